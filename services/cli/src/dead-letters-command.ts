import type { DeadLetters } from '@meridian/queue/dead-letters';
import type { StoredLetter } from '@meridian/queue/letter';
import { parseId, parseListArguments, parseTarget } from './arguments.ts';
import { messageOf } from './checks/finding.ts';
import { type Print, printable, shorten, toPrintableJson, toTable } from './print.ts';
import { UsageError } from './usage.ts';

const reasonMax = 120;
const pathMax = 60;

/** `meridian dead-letters …`; gives the exit code. */
export async function runDeadLetters(letters: DeadLetters, args: string[], print: Print): Promise<number> {
  const [action, ...rest] = args;
  if (action === 'list') return list(letters, rest, print);
  if (action === 'show') return show(letters, rest, print);
  if (action === 'replay') {
    return actOn(letters, rest, print, 'replayed', async (letter) => {
      const outcome = await letters.replay(letter);
      return outcome.ok ? null : outcome.reason;
    });
  }
  if (action === 'drop')
    return actOn(letters, rest, print, 'dropped', async (letter) => ((await letters.drop(letter)) ? null : 'is gone'));
  throw new UsageError('dead-letters takes list, show, replay or drop');
}

async function list(letters: DeadLetters, args: string[], print: Print): Promise<number> {
  const { limit, json } = parseListArguments(args);
  const [found, count] = await Promise.all([letters.list(limit), letters.count()]);
  if (json) {
    print(toPrintableJson(found.map(toShown)));
    return 0;
  }
  const rows = found.map((letter) => [letter.id, letter.time, ...describe(letter), shorten(letter.reason, reasonMax)]);
  for (const line of toTable([['ID', 'TIME', 'WEBSITE', 'EVENT', 'REASON'], ...rows])) print(line);
  print(count > found.length ? `${found.length} of ${count} dead letters` : `${count} dead letters`);
  return 0;
}

function describe({ content, eventCount }: StoredLetter): [website: string, event: string] {
  if (content.kind === 'event') {
    const { websiteId, eventName, urlPath } = content.event;
    return [websiteId, shorten(eventName || urlPath, pathMax)];
  }
  return ['-', content.kind === 'entry' ? `unreadable entry of ${eventCount}` : 'damaged'];
}

async function show(letters: DeadLetters, args: string[], print: Print): Promise<number> {
  const id = parseId(args);
  const letter = await letters.find(id);
  if (!letter) return tellMissing(print, id);
  print(toPrintableJson(toShown(letter), 2));
  return 0;
}

/** As `list --json` and `show` print it. */
function toShown({ id, time, reason, content }: StoredLetter): Record<string, unknown> {
  if (content.kind === 'event') return { id, time, reason, event: content.event };
  if (content.kind === 'damaged') return { id, time, reason, damaged: content.text };
  const fields = content.fields.map((field) => field.toString('base64'));
  return { id, time, reason, entry: fields };
}

/** Does it to one or to all that are there now. `act`: gives why it could not be done, or null. */
async function actOn(
  letters: DeadLetters,
  args: string[],
  print: Print,
  done: string,
  act: (letter: StoredLetter) => Promise<string | null>,
): Promise<number> {
  const target = parseTarget(args);
  if (target === 'all') return actOnAll(letters, print, done, act);
  const letter = await letters.find(target.id);
  if (!letter) return tellMissing(print, target.id);
  const obstacle = await act(letter);
  print(obstacle === null ? `${letter.id} ${done}` : `${letter.id} not ${done}: ${obstacle}`);
  return obstacle === null ? 0 : 1;
}

async function actOnAll(
  letters: DeadLetters,
  print: Print,
  done: string,
  act: (letter: StoredLetter) => Promise<string | null>,
): Promise<number> {
  const count = { done: 0, not: 0 };
  try {
    for await (const page of letters.pages()) {
      const outcomes = await Promise.all(
        page.map(async (letter) => ({ letter, obstacle: await act(letter).catch(messageOf) })),
      );
      for (const { letter, obstacle } of outcomes) {
        count[obstacle === null ? 'done' : 'not'] += 1;
        if (obstacle !== null) print(`${letter.id} not ${done}: ${printable(obstacle)}`);
      }
    }
  } finally {
    print(`${count.done} ${done}${count.not > 0 ? `, ${count.not} not` : ''}`);
  }
  return count.not === 0 ? 0 : 1;
}

function tellMissing(print: Print, id: string): number {
  print(`There is no dead letter ${id}`);
  return 1;
}
