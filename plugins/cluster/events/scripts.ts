import type { Lua } from '../store/store.ts'

/** Bytes of all entries of a session: an owner keeps a mebibyte of messages. */
const MOST_BYTES = 4 * 1024 * 1024
/** Entries at which Redis itself drops the oldest ones: more than any owner keeps. */
const MOST = 1024

/**
 * Writes events of a session: `events`; epoch of the owner, ms to live, `anew` to begin with none, number of entries to
 * delete, their ids, and an id and a text for each new entry → {entries, 0}, or {-1, epoch} where a later owner has written.
 * Ids begin with the epoch, and the stream takes none that is smaller than its last: who has lost the session, and does not
 * know it yet, adds nothing. An entry that is there already is not written twice.
 */
export const KEEP: Lua = {
  name: 'keep-events',
  lua: `local function last()
  if redis.call('EXISTS',KEYS[1])==0 then return 0 end
  local i=redis.call('XINFO','STREAM',KEYS[1])
  for n=1,#i,2 do if i[n]=='last-generated-id' then return tonumber(string.match(i[n+1],'^%d+')) end end
  return 0 end
local epoch,gone=tonumber(ARGV[1]),tonumber(ARGV[4])
if ARGV[3]=='anew' then
  local e=last() if e>epoch then return {-1,e} end
  redis.call('DEL',KEYS[1]) end
for n=5+gone,#ARGV,2 do
  local r=redis.pcall('XADD',KEYS[1],'MAXLEN','~',${MOST},ARGV[n],'e',ARGV[n+1])
  if type(r)=='table' and r.err then
    if not string.find(r.err,'equal or smaller',1,true) then return r end
    local e=last() if e>epoch then return {-1,e} end end end
for n=5,4+gone do redis.call('XDEL',KEYS[1],ARGV[n]) end
redis.call('PEXPIRE',KEYS[1],ARGV[2])
return {redis.call('XLEN',KEYS[1]),0}`,
}

/**
 * Takes the events of a session over: `events`; epoch of the new owner, ms to live → entries, or none where they are more than
 * any owner keeps. Owners before it add nothing from then on, as its epoch stands behind all that they could write.
 */
export const TAKE_OVER: Lua = {
  name: 'take-events',
  lua: `if redis.call('EXISTS',KEYS[1])==0 then return {} end
redis.pcall('XADD',KEYS[1],ARGV[1]..'-0','e','')
redis.call('PEXPIRE',KEYS[1],ARGV[2])
local r,size=redis.call('XRANGE',KEYS[1],'-','+','COUNT',${MOST}),0
for _,e in ipairs(r) do for _,v in ipairs(e[2]) do size=size+#v end end
return size>${MOST_BYTES} and {} or r`,
}

/** Forgets the events of a session that has ended: `events` → 1 or 0. */
export const FORGET_EVENTS: Lua = { name: 'forget-events', lua: `return redis.call('DEL',KEYS[1])` }
