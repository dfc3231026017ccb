/** Redis runs each script atomically. */

/**
 * Renews a lease if a value is given, and reads the directory: `replicas`; id, value or empty, ms → {id, value, …}.
 */
export const RENEW = `local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
if ARGV[2]~='' then redis.call('HSET',KEYS[1],ARGV[1],string.format('%d ',now+ARGV[3])..ARGV[2]) end
local r={}
for _,id in ipairs(redis.call('HKEYS',KEYS[1])) do
  local ends,value=string.match(redis.call('HGET',KEYS[1],id),'^(%d+) (.*)$')
  if not ends or tonumber(ends)<=now then redis.call('HDEL',KEYS[1],id)
  else r[#r+1]=id r[#r+1]=value end end
return r`

/** Replaces a value if it is the expected one: `value`; text, ms, expected value → 1, or 0 if it is another. */
export const REPLACE = `if redis.call('GET',KEYS[1])~=ARGV[3] then return 0 end
redis.call('SET',KEYS[1],ARGV[1],'PX',ARGV[2]) return 1`

/** Deletes a value if it is the expected one: `value`; expected value → 1, or 0 if it is another. */
export const DELETE = `if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end
return redis.call('DEL',KEYS[1])`

/** Adds to a counter: `number`; increment, ms, limit or -1, initial value → {added, total}. */
export const COUNT = `local by,most,from=tonumber(ARGV[1]),tonumber(ARGV[3]),tonumber(ARGV[4])
local known=redis.call('GET',KEYS[1])
local v=known and tonumber(known) or from
if most>=0 then by=math.min(by,math.max(0,most-v)) end
v=math.max(0,v+by)
local text=string.format('%.0f',v)
if known then redis.call('SET',KEYS[1],text,'KEEPTTL') else redis.call('SET',KEYS[1],text,'PX',ARGV[2]) end
return {by,v}`
