/** A Lua script, which Redis runs atomically. */
export interface Lua {
  readonly name: string
  readonly lua: string
}

const MAX_ENTRY_BYTES = 16 * 1024
const MAX_REPLICAS = 1000
const MAX_VALUE_BYTES = 1024 * 1024

/**
 * Lua function that treats oversized values as missing and does not send them: other Redis users could store values
 * up to 512 MB.
 */
const SHORT = `local function short(v,most) if v and #v>most then return false end return v end
`

/**
 * Renews a lease if a value is given, and reads the directory: `replicas`; id, value or empty, ms → {id, value, …}.
 */
export const RENEW: Lua = {
  name: 'renew',
  lua: `local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
if ARGV[2]~='' then redis.call('HSET',KEYS[1],ARGV[1],string.format('%d ',now+ARGV[3])..ARGV[2]) end
local r={}
for _,id in ipairs(redis.call('HKEYS',KEYS[1])) do
  if #id>64 or redis.call('HSTRLEN',KEYS[1],id)>${MAX_ENTRY_BYTES} then redis.call('HDEL',KEYS[1],id)
  else
    local ends,value=string.match(redis.call('HGET',KEYS[1],id),'^(%d+) (.*)$')
    if not ends or tonumber(ends)<=now then redis.call('HDEL',KEYS[1],id)
    elseif #r<${2 * MAX_REPLICAS} then r[#r+1]=id r[#r+1]=value end end end
return r`,
}

/** Deletes a lease: `replicas`; id. */
export const LEAVE: Lua = { name: 'leave', lua: `return redis.call('HDEL',KEYS[1],ARGV[1])` }

/**
 * Stores a value: `value`; text, ms, condition (`always`, `absent`, `is`), expected value → 1, or 0 if the condition
 * fails.
 */
export const PUT: Lua = {
  name: 'put',
  lua: `if ARGV[3]=='absent' then return redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2],'NX') and 1 or 0 end
if ARGV[3]=='is' and redis.call('GET',KEYS[1])~=ARGV[4] then return 0 end
redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) return 1`,
}

/** Reads a value: `value` → text or nil. */
export const GET: Lua = {
  name: 'get',
  lua: `${SHORT}return short(redis.call('GET',KEYS[1]),${MAX_VALUE_BYTES})`,
}

/** Reads and deletes a value: `value` → text or nil. */
export const TAKE: Lua = {
  name: 'take',
  lua: `${SHORT}return short(redis.call('GETDEL',KEYS[1]),${MAX_VALUE_BYTES})`,
}

/** Deletes a value: `value`; condition (`always`, `is`), expected value → 1, or 0 if missing. */
export const DELETE: Lua = {
  name: 'delete',
  lua: `if ARGV[1]=='is' and redis.call('GET',KEYS[1])~=ARGV[2] then return 0 end
return redis.call('DEL',KEYS[1])`,
}

/** Adds to a counter: `number`; increment, ms, limit or -1, initial value → {added, total}. */
export const COUNT: Lua = {
  name: 'count',
  lua: `local by,most,from=tonumber(ARGV[1]),tonumber(ARGV[3]),tonumber(ARGV[4])
local known=redis.call('GET',KEYS[1])
local v=known and tonumber(known) or from
if most>=0 then by=math.min(by,math.max(0,most-v)) end
v=math.max(0,v+by)
local text=string.format('%.0f',v)
if known then redis.call('SET',KEYS[1],text,'KEEPTTL') else redis.call('SET',KEYS[1],text,'PX',ARGV[2]) end
return {by,v}`,
}

/** Publishes a message: `channel`; text → number of receivers. */
export const PUBLISH: Lua = {
  name: 'publish',
  lua: `return redis.call('PUBLISH',KEYS[1],ARGV[1])`,
}
