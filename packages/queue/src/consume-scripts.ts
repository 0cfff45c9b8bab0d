/*
 * The Lua scripts of the consumer's end of the event log. Each is one atomic step.
 *
 * All take KEYS: the hash of manifests, then the stream of every partition in order. ARGV[1] is the consumer group,
 * ARGV[2] this consumer. A batch is named by its token and its entries: a JSON array with one array of ids, in order,
 * for each partition. A manifest says that a batch was begun, and may therefore be stored under its token: field =
 * token, value = consumer, line break, entries and, once some of its events may be stored under other tokens, another
 * line break.
 *
 * Trap: without allow-oom a full Redis refuses these scripts, and the log that fills it could never be drained (Redis 7
 * and later).
 */
const flags = '#!lua flags=allow-oom\n';

const common = `
local call = redis.call
local manifests, group, me = KEYS[1], ARGV[1], ARGV[2]
local all = 1000000

-- Lua passes only some thousand values at once.
local function inPortions(ids, work)
  for from = 1, #ids, 1000 do work(unpack(ids, from, math.min(from + 999, #ids))) end
end

local function claim(stream, ids, justIds)
  local claimed = {}
  inPortions(ids, function(...)
    local args = {stream, group, me, 0, ...}
    if justIds then args[#args + 1] = 'JUSTID' end
    for _, entry in ipairs(call('XCLAIM', unpack(args))) do claimed[#claimed + 1] = entry end
  end)
  return claimed
end

-- Whether every entry is still pending under this consumer.
local function isOurs(entries)
  for partition, ids in ipairs(entries) do
    if #ids > 0 then
      local ours = {}
      local pending = redis.pcall('XPENDING', KEYS[partition + 1], group, ids[1], ids[#ids], all, me)
      if pending.err then return false end -- no such group: Redis has lost it
      for _, one in ipairs(pending) do ours[one[1]] = true end
      for _, id in ipairs(ids) do
        if not ours[id] then return false end
      end
    end
  end
  return true
end
`;

/**
 * ARGV: group, consumer, entries, token, 1 if some events may be stored under other tokens. The fence: only if every
 * entry is still pending under this consumer, says 1, renews their idle time and, with a token, leaves the manifest.
 * Says 0 otherwise.
 */
export const holdScript = `${flags}${common}
local entries, token, mark = cjson.decode(ARGV[3]), ARGV[4], ARGV[5] == '1' and '\\n' or ''
if not isOurs(entries) then return 0 end
for partition, ids in ipairs(entries) do claim(KEYS[partition + 1], ids, true) end
if token ~= '' then call('HSET', manifests, token, me .. '\\n' .. ARGV[3] .. mark) end
return 1
`;

/**
 * ARGV: group, consumer, entries, token, how many of the events were stored, became dead letters and were removed, then
 * for each dead letter its partition (from 0), time, reason, and 'event' or 'entry' with its text. Only if every entry
 * is still pending under this consumer, says 1, writes the dead letters, acknowledges and deletes the entries and
 * removes the manifest. Says 0 otherwise. KEYS go on with the stream of dead letters of every partition, and the counts
 * (event-counts.ts).
 */
export const commitScript = `${flags}${common}
local entries, token = cjson.decode(ARGV[3]), ARGV[4]
local partitions, counts = (#KEYS - 2) / 2, KEYS[#KEYS]
if not isOurs(entries) then return 0 end
for at = 8, #ARGV, 5 do
  call('XADD', KEYS[partitions + 2 + ARGV[at]], '*', 'time', ARGV[at + 1], 'reason', ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
for partition, ids in ipairs(entries) do
  local stream = KEYS[partition + 1]
  inPortions(ids, function(...)
    call('XACK', stream, group, ...)
    call('XDEL', stream, ...)
  end)
end
call('HDEL', manifests, token)
local queued = 0
for at, field in ipairs({'stored', 'dead-lettered', 'removed'}) do
  call('HINCRBY', counts, field, ARGV[at + 4])
  queued = queued - ARGV[at + 4]
end
call('HINCRBY', counts, 'queued', queued)
return 1
`;

/**
 * ARGV: group, consumer, idle time in ms from which entries count as abandoned, entries at most per partition, bytes of
 * their rows, unpacked, behind which no more are taken. Takes over one abandoned batch with its manifest or, when there
 * is none, abandoned entries that no manifest names. Gives
 * {token ('' = no manifest), for each partition its entries, 1 if its manifest says that some events may be stored
 * under other tokens}, or nothing. Also removes consumers that have been idle for ten minutes and hold nothing.
 */
export const reclaimScript = `${flags}${common}
local idleMs, entriesMax, bytesLeft, consumerIdleMaxMs = ARGV[3], ARGV[4], tonumber(ARGV[5]), 600000

-- As packed-rows.ts has them.
local function unpackedBytesMax(fields)
  local packed = fields[5] == 'rows' and fields[6] or ''
  return #packed < 4 and 0 or math.min(struct.unpack('<I4', packed), 255 * #packed)
end

-- 'abandoned', 'held' by a consumer that is alive, or 'gone'.
local function stateOf(stream, id)
  local pending = call('XPENDING', stream, group, id, id, 1)[1]
  if not pending then return 'gone' end
  return pending[3] >= tonumber(idleMs) and 'abandoned' or 'held'
end

local function takeOver(token, entries, text)
  local batch = {}
  for partition, ids in ipairs(entries) do batch[partition] = claim(KEYS[partition + 1], ids) end
  call('HSET', manifests, token, me .. '\\n' .. text)
  return {token, batch, string.sub(text, -1) == '\\n' and 1 or 0}
end

local begun = {}
local kept = call('HGETALL', manifests)
for i = 1, #kept, 2 do
  local token, text = kept[i], string.match(kept[i + 1], '\\n(.*)')
  local entries, counts = cjson.decode(text), {abandoned = 0, held = 0, gone = 0}
  for partition, ids in ipairs(entries) do
    for _, id in ipairs(ids) do
      local state = counts.held > 0 and 'held' or stateOf(KEYS[partition + 1], id)
      counts[state] = counts[state] + 1
    end
  end
  if counts.held == 0 and counts.gone == 0 then return takeOver(token, entries, text) end
  if counts.held == 0 then
    -- Redis has lost a part of what it knew: what is left of the batch is taken without it.
    call('HDEL', manifests, token)
  else
    for partition, ids in ipairs(entries) do
      for _, id in ipairs(ids) do begun[partition .. ':' .. id] = true end
    end
  end
end

local batch, found = {}, false
for partition = 1, #KEYS - 1 do
  local stream, entries = KEYS[partition + 1], {}
  for _, pending in ipairs(call('XPENDING', stream, group, 'IDLE', idleMs, '-', '+', entriesMax)) do
    local isFree = bytesLeft > 0 and not begun[partition .. ':' .. pending[1]]
    for _, entry in ipairs(isFree and claim(stream, {pending[1]}) or {}) do
      entries[#entries + 1] = entry
      bytesLeft = bytesLeft - unpackedBytesMax(entry[2])
    end
  end
  batch[partition] = entries
  found = found or #entries > 0
  for _, consumer in ipairs(call('XINFO', 'CONSUMERS', stream, group)) do
    local name, pending, idle = consumer[2], consumer[4], consumer[6]
    if name ~= me and pending == 0 and idle > consumerIdleMaxMs then call('XGROUP', 'DELCONSUMER', stream, group, name) end
  end
end
return found and {'', batch} or nil
`;

/** ARGV: group, consumer. Removes this consumer from every stream where it holds nothing. */
export const leaveScript = `${flags}${common}
for partition = 1, #KEYS - 1 do
  if #call('XPENDING', KEYS[partition + 1], group, '-', '+', 1, me) == 0 then
    call('XGROUP', 'DELCONSUMER', KEYS[partition + 1], group, me)
  end
end
`;

/**
 * ARGV: group, consumer, Redis's run id; here KEYS[1] is the hash of the last restart. Remembers for every partition
 * the last entry that was in the log when a restart of Redis was first seen, and gives whether that is now (1 or 0) and
 * these ids, one for each partition. Then, too, it takes over as abandoned what was handed out and is not pending.
 * Trap: if Redis's file was cut inside a transaction, the half is replayed at the start after the next. An event then
 * reappears behind entries already handed out and would never be read; so it is claimed here.
 */
export const restartScript = `${flags}${common}
local restart, runId = KEYS[1], ARGV[3]
local isNew = call('HGET', restart, 'runId') ~= runId

local function lastDeliveredId(stream)
  for _, info in ipairs(call('XINFO', 'GROUPS', stream)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields.name == group then return fields['last-delivered-id'] end
  end
  return '0-0'
end

local function adopt(stream)
  local from, to = '-', lastDeliveredId(stream)
  repeat
    local entries = call('XRANGE', stream, from, to, 'COUNT', 50)
    for _, entry in ipairs(entries) do
      local id = entry[1]
      if #call('XPENDING', stream, group, id, id, 1) == 0 then
        call('XCLAIM', stream, group, me, 0, id, 'IDLE', 86400000, 'FORCE', 'JUSTID')
      end
      from = '(' .. id
    end
  until #entries < 50
end

if isNew then
  call('HSET', restart, 'runId', runId)
  for partition = 1, #KEYS - 1 do
    local info = call('XINFO', 'STREAM', KEYS[partition + 1])
    for i = 1, #info, 2 do
      if info[i] == 'last-generated-id' then call('HSET', restart, partition, info[i + 1]) end
    end
    adopt(KEYS[partition + 1])
  end
end
local answer = {isNew and 1 or 0}
for partition = 1, #KEYS - 1 do answer[partition + 1] = call('HGET', restart, partition) or '0-0' end
return answer
`;
