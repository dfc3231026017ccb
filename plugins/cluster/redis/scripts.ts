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

/**
 * Takes permits from a sliding window: counts per slice; slice ms, slices, limit, wanted, ahead, owed, unused →
 * {granted, wait ms}. Uses the Redis clock. Future slices, left by a clock set back, count for at most one window.
 */
export const PERMITS: Lua = {
  name: 'permits',
  lua: `local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
local S,N,most,want=tonumber(ARGV[1]),tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4])
local ahead,owed,back=tonumber(ARGV[5]),tonumber(ARGV[6]),tonumber(ARGV[7])
local cur=math.floor(now/S)
local all=redis.call('HGETALL',KEYS[1])
local at,n={},{}
for i=1,#all,2 do local s=tonumber(all[i])
  if s<=cur-N or s>cur+N then redis.call('HDEL',KEYS[1],all[i]) else at[#at+1]=s n[s]=tonumber(all[i+1]) end end
table.sort(at)
for _,s in ipairs(at) do
  if back==0 then break end
  local b=math.min(back,n[s]) back=back-b n[s]=n[s]-b
  if n[s]==0 then redis.call('HDEL',KEYS[1],string.format('%d',s)) else redis.call('HSET',KEYS[1],string.format('%d',s),string.format('%d',n[s])) end end
local sum=owed
for _,s in ipairs(at) do sum=sum+n[s] end
local room=math.max(0,most-sum)
local need=math.min(want,room)
local got=need+math.min(ahead,math.floor((room-need)/4))
if got+owed>0 then
  if not n[cur] then at[#at+1]=cur n[cur]=0 end
  n[cur]=n[cur]+got+owed
  redis.call('HSET',KEYS[1],string.format('%d',cur),string.format('%d',n[cur])) end
redis.call('PEXPIRE',KEYS[1],(N+1)*S)
if sum+got<most then return {got,0} end
local first=cur
for _,s in ipairs(at) do if n[s]>0 and s<first then first=s end end
return {got,math.max(0,(first+N)*S-now)}`,
}

/** Adds to a counter: `number`; increment, ms, limit or -1, ahead, initial value → {granted, total}. */
export const COUNT: Lua = {
  name: 'count',
  lua: `local by,most,ahead,from=tonumber(ARGV[1]),tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])
local known=redis.call('GET',KEYS[1])
local v=known and tonumber(known) or from
local got=by+ahead
if most>=0 then
  local room=math.max(0,most-v)
  local need=math.min(by,room)
  got=need+math.min(ahead,math.floor((room-math.max(0,need))/4)) end
v=math.max(0,v+got)
local text=string.format('%.0f',v)
if known then redis.call('SET',KEYS[1],text,'KEEPTTL') else redis.call('SET',KEYS[1],text,'PX',ARGV[2]) end
return {got,v}`,
}

/** Publishes a message: `channel`; text → number of receivers. */
export const PUBLISH: Lua = {
  name: 'publish',
  lua: `return redis.call('PUBLISH',KEYS[1],ARGV[1])`,
}
