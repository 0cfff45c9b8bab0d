import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../processes.ts';

type CallFrame = { functionName: string; url: string; lineNumber: number; columnNumber: number };
type CpuProfile = { nodes: { id: number; callFrame: CallFrame }[]; samples: number[]; timeDeltas: number[] };

const shown = 15;

/**
 * Prints the functions and the files in which a process spent its time by itself, of all `.cpuprofile` files of the
 * folder.
 */
export function printCpuProfiles(folder: string): void {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))) {
    const profile: CpuProfile = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const toSource = createSourceFinder();
    const byFunction = new Map<string, number>();
    const byFile = new Map<string, number>();
    const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, { callFrame, file: toSource(callFrame) }]));
    let totalMs = 0;
    for (const [index, id] of profile.samples.entries()) {
      const frame = frames.get(id);
      if (!frame || frame.callFrame.functionName === '(idle)') continue;
      const ms = (profile.timeDeltas[index] ?? 0) / 1_000;
      totalMs += ms;
      const name = `${frame.callFrame.functionName || '(anonymous)'}  ${frame.file}`;
      byFunction.set(name, (byFunction.get(name) ?? 0) + ms);
      const place = frame.file.replace(/:\d+$/, '');
      byFile.set(place, (byFile.get(place) ?? 0) + ms);
    }
    console.log(`\n${file}: self time by function (idle excluded, ${(totalMs / 1_000).toFixed(1)} s in all)`);
    printTop(byFunction, totalMs);
    console.log(`\n${file}: self time by file`);
    printTop(byFile, totalMs);
  }
}

function printTop(times: Map<string, number>, totalMs: number): void {
  const top = [...times].sort(([, a], [, b]) => b - a).slice(0, shown);
  for (const [name, ms] of top)
    console.log(
      `${((100 * ms) / totalMs).toFixed(1).padStart(6)} %  ${Math.round(ms).toString().padStart(6)} ms  ${name}`,
    );
}

/** Finds where a frame of a bundle stands in the sources. */
function createSourceFinder(): (frame: CallFrame) => string {
  const maps = new Map<string, SourceMap | null>();
  return ({ url, lineNumber, columnNumber }) => {
    if (!url.startsWith('file:')) return url || '(V8)';
    const file = fileURLToPath(url);
    let map = maps.get(file);
    if (map === undefined) {
      map = existsSync(`${file}.map`) ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : null;
      maps.set(file, map);
    }
    const entry = map?.findEntry(lineNumber, columnNumber);
    if (entry && 'originalSource' in entry)
      return `${entry.originalSource.replace(/^(\.\.\/)+/, '').replace(/^.*node_modules\//, '')}:${entry.originalLine + 1}`;
    return `${relative(root, file)}:${lineNumber + 1}`;
  };
}
