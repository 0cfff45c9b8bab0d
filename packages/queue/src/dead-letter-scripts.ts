/*
 * The Lua scripts of the operator's hand on dead letters. Each is one atomic step, the move between the counts
 * (event-counts.ts) included. KEYS begin with the counts and the stream of dead letters, ARGV with the id of a letter
 * in it and how many events it holds.
 */

/**
 * KEYS, ARGV: go on with the log's stream; with names and values of the entry. Says 1, or 0 when the letter is gone.
 */
export const replayScript = `
local call = redis.call
if #call('XRANGE', KEYS[2], ARGV[1], ARGV[1]) == 0 then return 0 end
call('XADD', KEYS[3], '*', unpack(ARGV, 3))
call('XDEL', KEYS[2], ARGV[1])
call('HINCRBY', KEYS[1], 'dead-lettered', 0 - ARGV[2])
call('HINCRBY', KEYS[1], 'queued', ARGV[2])
return 1
`;

/**
 * ARGV goes on with the count to which its events move. Says 1, or 0 when the letter is gone. Also in a Redis that is
 * full: it makes room.
 */
export const dropScript = `#!lua flags=allow-oom
local call = redis.call
if call('XDEL', KEYS[2], ARGV[1]) == 0 then return 0 end
call('HINCRBY', KEYS[1], 'dead-lettered', 0 - ARGV[2])
call('HINCRBY', KEYS[1], ARGV[3], ARGV[2])
return 1
`;
