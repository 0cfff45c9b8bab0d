import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { dimensions, type MetricType } from './queries/dimensions.ts';
import { createChance, randomBuckets, randomData, randomQuestion } from './reference/random-data.ts';
import { createTestSite, toBlock } from './test-site.ts';
import { createTestWarehouse } from './test-warehouse.ts';
import { createWarehouse } from './warehouse.ts';

const { warehouse, client, database } = await createTestWarehouse();
const ofEvents = createWarehouse(database.url, { readFrom: 'events' });
const ofRollups = createWarehouse(database.url, { readFrom: 'rollups' });

const seed = Number(process.env.REFERENCE_SEED ?? Date.now() % 1_000_000);
const types = Object.keys(dimensions) as MetricType[];

test(`answers from rollups are those from events (seed ${seed})`, async () => {
  const chance = createChance(seed);
  const sites = Array.from({ length: 60 }, () => randomData(chance, createTestSite(warehouse)));
  const blocks: (typeof sites)[number]['rows'][] = [[], [], [], []];
  for (const row of sites.flatMap(({ rows }) => rows)) chance.pick(blocks).push(row);
  for (const block of blocks) await warehouse.insertEvents(toBlock(block), randomUUID());
  for (const merged of [false, true]) {
    if (merged) await client.command({ query: 'OPTIMIZE TABLE site_visits FINAL' });
    for (const data of sites)
      for (let n = 0; n < 4; n++) {
        const question = randomQuestion(chance, data);
        const buckets = randomBuckets(chance, question);
        const ranking = {
          type: chance.pick(types),
          limit: chance.pick([1000, 2]),
          offset: chance.pick([0, 1]),
          search: chance.pick(['', '', 'a', 'é']),
        };
        const search = chance.pick(['', '', 'a', 'ŻÓ']);
        const answersOf = (asked: typeof warehouse) =>
          Promise.all([
            asked.getStats(question),
            asked.getPageviewSeries(question, buckets),
            asked.getMetrics(question, ranking),
            asked.getExpandedMetrics(question, ranking),
            asked.listEvents(question, { offset: 0, limit: 1000 }, { search }),
          ]).then((answers) => answers.map(({ value }) => value));
        const [expected, found] = await Promise.all([answersOf(ofEvents), answersOf(ofRollups)]);
        expect(found, JSON.stringify({ question, buckets, ranking, search })).toEqual(expected);
      }
  }
}, 600_000);
