import { eventFormatVersion } from './log-entry.ts';

/** How long the answer to an idempotent request is remembered. */
export const answerLifeMs = 86_400_000;

/** How long a key is kept for a request whose events go to other regions first: longer than that takes. */
const reservationLifeMs = 30_000;

/**
 * Keeps an idempotency key (KEYS[1]) for the body with a hash (ARGV[1]) until its events are appended: a record without
 * a draft. Answers what the append script would, `{'repeated', …}` or `{'reused'}`; nothing where the request may go
 * on.
 */
export const reserveScript = `
local known = redis.call('HMGET', KEYS[1], 'bodyHash', 'draft', 'visit', 'order', 'visitIds')
if known[1] and known[1] ~= ARGV[1] then return {'reused'} end
if known[2] then return {'repeated', known[2], known[3], known[4], known[5]} end
redis.call('HSET', KEYS[1], 'bodyHash', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${reservationLifeMs})
return nil`;

/** A visit goes on with an event that is no further from its first or last one than this. */
export const visitGapMs = 30 * 60_000;
/** How long a visit is remembered after its last event, by the collector's clock. */
export const visitLifeMs = 60 * 60_000;

/** A visit as the script keeps it: its bytes, and where among them the clock stands at which it was touched last. */
export const keptVisit = { bytes: 56, touchedAt: 32 };

/**
 * The Lua script that appends to the event log: in one atomic step it looks whether a request is a repetition, places
 * every event in a visit and writes the entries. Either all of the call is done or, on any error, nothing: all writes
 * come last, and Redis refuses for want of memory, disk or replicas at the first write.
 *
 * Input (packed by append-call.ts):
 *   KEYS  the counts (event-counts.ts), then for each unit: its idempotency key if it has one, then the stream of each of its entries
 *   ARGV  the deadline (Redis's clock, ms), the collector's clock (ms), then for each unit: hash of the body ('' = the unit is
 *         not idempotent), packed draft of the answer ('' = none is kept), which of its visits is kept (from 1; 0 = none),
 *         number of entries; and for each entry: its placements, its packed rows (see packed-rows.ts)
 *   A placement is, big-endian: flags (1 byte), session id (16), candidate visit id (16), event time (double, ms);
 *   flag 1: visit id (16) and last event time (double) of the token of this session;
 *   flag 2: session id (16), visit id (16) and last event time (double) of the token of a session without id, while this event
 *           brings one;
 *   flag 4: the event does not prolong its visit.
 * The fields of an entry are described in log-entry.ts.
 * Output: {done (0 = the deadline has passed, nothing was done), seconds, microseconds of Redis's clock, one answer per
 * unit}.
 *   A unit's answer: {'appended', visits of entry 1, of entry 2, ...} | {'repeated', draft, visit} | {'reused'}, or of a
 *   record that the version before has kept {'repeated', draft, nil, order, visit ids}
 *   A visit of an answer is its id (16) and the time of its last event (double, ms), after all events of the unit.
 *
 * Visits (docs/semantics.md "Sessions and visits"): a visit is a run of a session's events with gaps of at most 30
 * minutes, by event time. A late event joins the visit to whose first or last event it is nearest within 30 minutes (a
 * tie: the earlier), or opens one. Visits are never merged, so those of one session never overlap. They are kept per
 * session under visits:{partition}:<16 bytes>, sorted by their first event, 56 bytes each: visit id, first and last
 * event time (double, ms), the clock when last touched (double, ms), the session that claimed the visit (16 zero bytes
 * = none). A visit lives 60 minutes of the collector's clock after its last event.
 *
 * Identification (docs/semantics.md "Sessions and visits"): an event that brings an id together with the token of a
 * session without id goes on in that session's running visit, unless the id's session has a running visit of its own,
 * and only if no other id has claimed that visit.
 */
export const appendScript = `
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local clock = call('TIME')
if clock[1] * 1000 + clock[2] / 1000 > tonumber(ARGV[1]) then return {0, clock[1], clock[2]} end
local now = tonumber(ARGV[2])

local gapMaxMs, lifeMs, answerLifeMs = ${visitGapMs}, ${visitLifeMs}, ${answerLifeMs}
local visitFormat, visitBytes, visitsMax = '>c16dddc16', ${keptVisit.bytes}, 1000
local nobody = string.rep('\\0', 16)

local sessions = {}
local function visitsOf(key)
  local visits = sessions[key]
  if visits then return visits end
  visits = {}
  local kept = call('GET', key)
  if kept then
    for at = 1, #kept, visitBytes do
      local id, first, last, touched, claimedBy = unpack(visitFormat, kept, at)
      if touched >= now - lifeMs then
        visits[#visits + 1] = {id = id, first = first, last = last, touched = touched, claimedBy = claimedBy}
      end
    end
  end
  sessions[key] = visits
  return visits
end

-- Position of the first visit that begins after the time.
local function positionAfter(visits, at)
  local low, high = 1, #visits + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if visits[middle].first <= at then low = middle + 1 else high = middle end
  end
  return low
end

local function runningVisit(visits, at)
  local position = positionAfter(visits, at)
  local earlier, later = visits[position - 1], visits[position]
  local sinceEarlier = earlier and math.max(0, at - earlier.last) or math.huge
  local untilLater = later and later.first - at or math.huge
  if sinceEarlier <= untilLater then
    return sinceEarlier <= gapMaxMs and earlier or nil
  end
  return untilLater <= gapMaxMs and later or nil
end

-- Adds a visit that the time belongs to. The one that was used longest ago makes room for it.
local function addVisit(visits, at, id, first, last)
  if #visits >= visitsMax then
    local oldest = 1
    for i = 2, #visits do
      if visits[i].touched < visits[oldest].touched then oldest = i end
    end
    table.remove(visits, oldest)
  end
  local visit = {id = id, first = first, last = last, touched = now, claimedBy = nobody}
  table.insert(visits, positionAfter(visits, at), visit)
  return visit
end

-- Makes a visit that is there as long as it is elsewhere, cut to the room that its neighbours leave it.
local function stretchVisit(visits, id, first, last)
  for i, visit in ipairs(visits) do
    if visit.id == id then
      local earlier, later = visits[i - 1], visits[i + 1]
      first, last = math.min(visit.first, first), math.max(visit.last, last)
      visit.first = earlier and math.max(first, earlier.last) or first
      visit.last = later and math.min(last, later.first) or last
      return true
    end
  end
  return false
end

-- Learns a visit known from elsewhere. One that is not there is added if the time may join it, cut to the room that the
-- time's neighbours leave it.
local function learnVisit(visits, at, id, first, last)
  if stretchVisit(visits, id, first, last) then return end
  local position = positionAfter(visits, at)
  local earlier, later = visits[position - 1], visits[position]
  if earlier then
    if at <= earlier.last then return end
    first = math.max(first, earlier.last)
  end
  if later then last = math.min(last, later.first) end
  if first <= last and at - last <= gapMaxMs and first - at <= gapMaxMs then
    addVisit(visits, at, id, first, last)
  end
end

-- The token of a session knows its visit, from the start in the visit's id to its last event: also when the kept one has
-- run out, or when that event still waits elsewhere.
local function learnFromToken(visits, at, id, last)
  local high, low = unpack('>I2I4', id)
  local start = high * 4294967296 + low
  learnVisit(visits, at, id, math.min(start, last), math.max(start, last))
end

local function lendVisit(lenderKey, tokenVisit, tokenLast, session, visits, at)
  local lent = visitsOf(lenderKey)
  learnFromToken(lent, at, tokenVisit, tokenLast)
  local visit = runningVisit(lent, at)
  if not visit or (visit.claimedBy ~= nobody and visit.claimedBy ~= session) then return end
  visit.claimedBy, visit.touched = session, now
  learnVisit(visits, at, visit.id, visit.first, visit.last)
end

-- The visit of each event, and its id.
local function placeEvents(placements, keyPrefix)
  local placed, ids, position, size = {}, {}, 1, #placements
  while position <= size do
    local flags, session, candidate, at
    flags, session, candidate, at, position = unpack('>Bc16c16d', placements, position)
    local visits = visitsOf(keyPrefix .. session)
    if flags % 2 == 1 then
      local tokenVisit, tokenLast
      tokenVisit, tokenLast, position = unpack('>c16d', placements, position)
      learnFromToken(visits, at, tokenVisit, tokenLast)
    end
    local visit = runningVisit(visits, at)
    if flags % 4 >= 2 then
      local lender, tokenVisit, tokenLast
      lender, tokenVisit, tokenLast, position = unpack('>c16c16d', placements, position)
      if not visit then
        lendVisit(keyPrefix .. lender, tokenVisit, tokenLast, session, visits, at)
        visit = runningVisit(visits, at)
      end
    end
    if not visit then
      visit = addVisit(visits, at, candidate, at, at)
    elseif flags < 4 then
      if at < visit.first then visit.first = at end
      if at > visit.last then visit.last = at end
    end
    visit.touched = now
    placed[#placed + 1], ids[#ids + 1] = visit, visit.id
  end
  return placed, ids
end

local function tellVisits(placed)
  local told = {}
  for i, visit in ipairs(placed) do told[i] = pack('>c16d', visit.id, visit.last) end
  return table.concat(told)
end

local keyAt, argAt = 1, 2
local function nextKey() keyAt = keyAt + 1 return KEYS[keyAt] end
local function nextArg() argAt = argAt + 1 return ARGV[argAt] end

local answers, entries, repeatable = {}, {}, {}
while argAt < #ARGV do
  local bodyHash, draft, keptAt, entryCount = nextArg(), nextArg(), tonumber(nextArg()), tonumber(nextArg())
  local answerKey = bodyHash ~= '' and nextKey()
  local known = answerKey and (repeatable[answerKey] or call('HMGET', answerKey, 'bodyHash', 'draft', 'visit', 'order', 'visitIds'))
  -- Without a draft the key is only kept for this body.
  if known and known[1] and (known[2] or known[1] ~= bodyHash) then
    keyAt, argAt = keyAt + entryCount, argAt + 2 * entryCount
    answers[#answers + 1] = known[1] == bodyHash and {'repeated', known[2], known[3], known[4], known[5]} or {'reused'}
  else
    local answer = {'appended'}
    for i = 1, entryCount do
      local stream, placements, rows = nextKey(), nextArg(), nextArg()
      local placed, ids = placeEvents(placements, 'visits:' .. string.match(stream, '{.*}') .. ':')
      answer[1 + i] = placed
      entries[#entries + 1] = {stream, #ids, rows, table.concat(ids)}
    end
    for i = 1, entryCount do answer[1 + i] = tellVisits(answer[1 + i]) end
    if draft ~= '' then
      repeatable[answerKey] = {bodyHash, draft, string.sub(table.concat(answer, '', 2), 24 * keptAt - 23, 24 * keptAt)}
    end
    answers[#answers + 1] = answer
  end
end

local accepted = 0
for _, entry in ipairs(entries) do
  accepted = accepted + entry[2]
  call('XADD', entry[1], '*', 'v', '${eventFormatVersion}', 'n', entry[2], 'rows', entry[3], 'visitIds', entry[4])
end
if accepted > 0 then
  call('HINCRBY', KEYS[1], 'accepted', accepted)
  call('HINCRBY', KEYS[1], 'queued', accepted)
end
for key, answer in pairs(repeatable) do
  call('HSET', key, 'bodyHash', answer[1], 'draft', answer[2], 'visit', answer[3])
  call('PEXPIRE', key, answerLifeMs)
end
for key, visits in pairs(sessions) do
  local kept = {}
  for i, visit in ipairs(visits) do
    kept[i] = pack(visitFormat, visit.id, visit.first, visit.last, visit.touched, visit.claimedBy)
  end
  if #kept > 0 then call('SET', key, table.concat(kept), 'PX', lifeMs) end
end
return {1, clock[1], clock[2], answers}
`;
