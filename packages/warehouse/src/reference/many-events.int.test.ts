import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { EventRow } from '../event-row.ts';
import type { DateRange, Question } from '../question.ts';
import { at, createTestSite, toBlock } from '../test-site.ts';
import { createTestWarehouse } from '../test-warehouse.ts';
import { referenceLog, referenceMetrics } from './answers.ts';
import { type Chance, createChance } from './random-data.ts';

const { warehouse } = await createTestWarehouse();

/** REFERENCE_SEED repeats a run that failed. */
const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);

const EVENTS = 3_000;
const VISITS = 400;
const QUESTIONS = 25;
const minuteMs = 60_000;
const quarterMs = 15 * minuteMs;
const startMs = at('2026-06-29T12:00:00Z');
const endMs = at('2026-07-01T04:00:00Z');

const chance = createChance(seed);

/**
 * Hundreds of paths and titles. Those with most events have them of one visitor each, and more of these there are than
 * a ranking looks at first; those with most visitors have few events.
 */
function manyRows(site: ReturnType<typeof createTestSite>, identifies: boolean): EventRow[] {
  const visits = Array.from({ length: VISITS }, (_, i) => {
    const firstMs = startMs + chance.whole(endMs - startMs - 2 * quarterMs);
    return { name: `v${i}`, firstMs, session: `s${chance.whole(150)}`, person: `p${i}`, only: i < 90 ? i : undefined };
  });
  return Array.from({ length: EVENTS }, () => {
    const visit = chance.pick(chance.often(0.6) ? visits.slice(0, 90) : visits.slice(90));
    const anyMs = visit.firstMs + chance.whole(2 * quarterMs);
    const isPerson = identifies && chance.often(0.05);
    const eventType = chance.pick([1, 1, 1, 2] as const);
    return site.toRow({
      t: chance.often(0.2) ? Math.round(anyMs / quarterMs) * quarterMs : anyMs,
      visit: visit.name,
      session: isPerson ? visit.person : visit.session,
      distinctId: isPerson ? visit.person : '',
      eventType,
      eventName: eventType === 2 ? `event ${chance.whole(30)}` : '',
      urlPath: visit.only === undefined ? `/p${chance.whole(60 + chance.whole(200))}` : `/only${visit.only}`,
      pageTitle: chance.often(0.1) ? '' : `Page ${visit.only === undefined ? chance.whole(150) : `only ${visit.only}`}`,
      browser: chance.pick(['Chrome', 'Firefox']),
    });
  });
}

const sites = [createTestSite(warehouse), createTestSite(warehouse)].map((site, i) => ({
  websiteId: site.websiteId,
  rows: manyRows(site, i === 1),
}));
for (const { rows } of sites) await warehouse.insertEvents(toBlock(rows), randomUUID());

/** All of it, whole months and days, quarters, and odd ones. */
function randomRange(): DateRange {
  const anyMs = () => startMs + chance.whole(endMs - startMs);
  const [startAt, endAt] = chance.pick([
    [at('2026-01-01T00:00:00Z'), at('2026-12-31T23:59:59.999Z')],
    [at('2026-07-01T00:00:00Z'), at('2026-07-31T23:59:59.999Z')],
    [at('2026-06-30T00:00:00Z'), at('2026-06-30T23:59:59.999Z')],
    [Math.round(anyMs() / quarterMs) * quarterMs, endMs],
    [startMs, Math.round(anyMs() / quarterMs) * quarterMs - chance.pick([0, 1])],
    [startMs + chance.whole(quarterMs), endMs - chance.whole(quarterMs)],
    [startMs, endMs - chance.whole((endMs - startMs) / 2)],
    [startMs, endMs - chance.whole((endMs - startMs) / 2)],
    [anyMs(), endMs],
  ] as const);
  return { startAt: new Date(Math.min(startAt, endAt)), endAt: new Date(Math.max(startAt, endAt)) };
}

function randomQuestion(chance: Chance, websiteId: string): Question {
  const chrome = { name: 'browser', op: 'eq', values: ['chrome'] } as const;
  return {
    ...{ websiteId, range: randomRange(), match: 'all', route: 'test' },
    filters: chance.often(0.15) ? [chrome] : [],
    eventType: chance.pick([undefined, undefined, undefined, 1, 2]),
    excludeBounce: chance.often(0.15),
  };
}

test(`of hundreds of values the first few are the reference's, whatever is looked for (seed ${seed})`, async () => {
  for (const { websiteId, rows } of sites)
    for (let n = 0; n < QUESTIONS; n++) {
      const question = randomQuestion(chance, websiteId);
      const ranking = {
        type: chance.pick(['path', 'path', 'title', 'title', 'event', 'entry'] as const),
        limit: chance.pick([1, 3, 10, 40, 500]),
        offset: chance.pick([0, 0, 1, 7, 100]),
        search: chance.pick(['', '', '1', '9', 'ONLY', '/p3']),
      };
      const [metrics, expanded] = [
        await warehouse.getMetrics(question, ranking),
        await warehouse.getExpandedMetrics(question, ranking),
      ];
      expect({ metrics: metrics.value, expanded: expanded.value }, JSON.stringify({ seed, question, ranking })).toEqual(
        referenceMetrics(rows, question, ranking),
      );
    }
}, 600_000);

test(`a page of the log is the reference's however far from the newest event it is (seed ${seed})`, async () => {
  for (const { websiteId, rows } of sites)
    for (let n = 0; n < QUESTIONS; n++) {
      const question = randomQuestion(chance, websiteId);
      const search = chance.pick(['', '', '', '', '1', 'page 2', '/only', 'event 3']);
      const all = referenceLog(rows, question, search);
      const border = startMs + chance.whole((endMs - startMs) / quarterMs) * quarterMs;
      const newer = all.filter(({ createdAt }) => createdAt.getTime() >= border).length;
      const atBorder = newer + chance.pick([-1, 0, 1]);
      const ends = [0, 999, 1_000, 1_001, all.length - 1, all.length + 5];
      const offset = chance.pick([...ends, chance.whole(EVENTS), atBorder, atBorder, atBorder]);
      const page = { offset: Math.max(0, offset), limit: 1 + chance.whole(60) };
      const maxResults = chance.pick([undefined, undefined, 1_030]);
      const seen = all.slice(0, maxResults);
      const { value } = await warehouse.listEvents(question, page, { search, maxResults });
      expect(value, JSON.stringify({ seed, question, search, page, maxResults })).toMatchObject({
        rows: seen.slice(page.offset, page.offset + page.limit),
        count: seen.length,
        isCapped: all.length > seen.length,
      });
      expect(value.nextCursor !== null).toBe(page.offset + page.limit < seen.length);
      if (!value.nextCursor) continue;
      const behind = await warehouse.listEvents(
        question,
        { cursor: value.nextCursor, limit: 7 },
        { search, maxResults },
      );
      const from = page.offset + page.limit;
      expect(behind.value.rows, JSON.stringify({ seed, question, page })).toEqual(seen.slice(from, from + 7));
    }
}, 600_000);
