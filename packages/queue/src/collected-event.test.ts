import { expect, test } from 'vitest';
import { decodeEvents, deflateLines, encodeEvent, type PendingEvent } from './collected-event.ts';
import { pendingEvent } from './test-events.ts';
import { writeUuid } from './uuid-bytes.ts';

const visitId = '019eb10d-d800-7abc-8def-0123456789ab';
const otherVisitId = '019eb10d-d900-7abc-8def-0123456789ab';

const encoded = (events: PendingEvent[]): Buffer => deflateLines(Buffer.from(events.map(encodeEvent).join('\n')));

function visitIdBytes(...visitIds: string[]): Buffer {
  const bytes = Buffer.alloc(visitIds.length * 16);
  for (const [index, uuid] of visitIds.entries()) writeUuid(bytes, index * 16, uuid);
  return bytes;
}

test('every field of every type of event survives the way through the log', () => {
  const events = [
    pendingEvent(),
    pendingEvent({ type: 'custom', eventName: 'buy', data: '{"price":9.5,"name":"\\u0001 é"}', distinctId: 'user-1' }),
    pendingEvent({ type: 'identify', distinctId: 'user-1', data: '{"plan":"pro"}' }),
    pendingEvent({ type: 'performance', lcp: 1200.5, inp: 0, fcp: null, ttfb: 80, cls: 0.02 }),
  ];
  const visitIds = [visitId, otherVisitId, visitId, visitId];
  const decoded = decodeEvents(encoded(events), visitIdBytes(...visitIds));
  expect(decoded).toEqual(events.map((event, index) => ({ ...event, visitId: visitIds[index] })));
});

// Entries may wait in a log while the code is replaced: what version 1 wrote must stay readable as long as any can lie there.
test('an entry written by format version 1 stays readable', () => {
  const writtenByVersion1 = Buffer.from(
    '3VBBTsMwELzzCrQHTut214kT59BLBZy4cWx7sGNbCaROSVoRnsELeuYdfIgnILeV4AmIPczszK52pF0BceUtkxOuDlaUZQjChhAEscxyVZS6MhYQyHItXeZFHhSJvOBSaC0rkZncqrpwpdcBEFSgmp30J1+kgdC+DKIiw1bWmcu9AuRSM2lVUCpkhLHpdzM/me2u84Awr034/JibNaToacE3bwsJCKM3Q938XgxtdIDwshib3o+A8Jj4+uv4flxHE916v+2HdBIQzJnu28GHfgKEhzYeEjs/Pu/7HSBwJWli0nRyxe0dIFxALJNY+qFrIyBE/5riAOHpEC8BZx0En5sf3Fyt/sCf1b//M7IkmikkjIeuQ01IM5Kbbw==',
    'base64',
  );
  expect(decodeEvents(writtenByVersion1, visitIdBytes(visitId, otherVisitId))).toEqual([
    { ...pendingEvent(), visitId },
    { ...pendingEvent({ type: 'performance', lcp: 1200.5, inp: 0, ttfb: 80, cls: 0.02 }), visitId: otherVisitId },
  ]);
});

test('what is not an encoded list of events is refused, not read as something else', () => {
  const good = encoded([pendingEvent()]);
  expect(() => decodeEvents(good, visitIdBytes(visitId, visitId))).toThrow('one visit id for each event');
  expect(() => decodeEvents(good.subarray(0, 40), visitIdBytes(visitId))).toThrow();
  expect(() => decodeEvents(Buffer.from('not deflated'), visitIdBytes(visitId))).toThrow();
});
