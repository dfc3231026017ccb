import { MOST_VALUE, SHORT } from './short.ts'
import type { Lua } from './store.ts'

/** Bytes of the id of a replica. */
const MOST_ID = 64

/**
 * Renews the lease of a replica: `replica`, `roster`; before, now, ms, id → 2 renewed, 1 new, 0 somebody else's.
 */
export const LEASE: Lua = {
  name: 'lease',
  lua: `local v=redis.call('GET',KEYS[1])
if v~=false and v~=ARGV[1] and v~=ARGV[2] then return 0 end
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
redis.call('SET',KEYS[1],ARGV[2],'PX',ARGV[3])
redis.call('ZADD',KEYS[2],now+ARGV[3],ARGV[4])
redis.call('ZREMRANGEBYSCORE',KEYS[2],'-inf',now-60000)
return v==false and 1 or 2`,
}

/** Ends a lease: `replica`, `roster`, `left`; value, id, ms for which it is known → 1, or 0 where it is somebody else's. */
export const LEAVE: Lua = {
  name: 'leave',
  lua: `redis.call('ZREM',KEYS[2],ARGV[2])
if KEYS[3] then redis.call('SET',KEYS[3],'1','PX',ARGV[3]) end
if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0`,
}

/** Names those whose lease has not run out: `roster` → ids. */
export const ROSTER: Lua = {
  name: 'roster',
  lua: `${SHORT}local t=redis.call('TIME') local r={}
for _,m in ipairs(redis.call('ZRANGEBYSCORE',KEYS[1],t[1]*1000+math.floor(t[2]/1000),'+inf','LIMIT',0,1000)) do
  r[#r+1]=short(m,${MOST_ID}) or nil end
return r`,
}

/** Writes what is known of a session, unless another replica has it: `session`; me, epoch, record, ms → {owner, epoch}. */
export const WRITE: Lua = {
  name: 'write',
  lua: `${SHORT}local o=redis.call('HMGET',KEYS[1],'owner','epoch')
if o[1] and o[1]~=ARGV[1] then return {short(o[1],${MOST_ID}),tonumber(o[2])} end
local n=o[2] or ARGV[2]
redis.call('HSET',KEYS[1],'owner',ARGV[1],'epoch',n,'record',ARGV[3])
redis.call('PEXPIRE',KEYS[1],ARGV[4]) return {ARGV[1],tonumber(n)}`,
}

/** Reads a session: `session` → {owner, epoch, record}, or nothing. */
export const READ: Lua = {
  name: 'read',
  lua: `${SHORT}local o=redis.call('HMGET',KEYS[1],'owner','epoch','record')
if not short(o[1],${MOST_ID}) then return {} end return {o[1],tonumber(o[2]),short(o[3],${MOST_VALUE})}`,
}

/**
 * Takes a session over from a replica that is gone: `session`, `replica` of the old one; old, epoch, me, ms, lease that is
 * known to be dead, or of one that leaves, which then stays → {owner, epoch}. One that lives after all finds its lease gone, and
 * looks whose its sessions are.
 */
export const ADOPT: Lua = {
  name: 'adopt',
  lua: `${SHORT}local o=redis.call('HMGET',KEYS[1],'owner','epoch')
if not short(o[1],${MOST_ID}) then return {} end
if o[1]==ARGV[1] and o[2]==ARGV[2] then
  local v=redis.call('GET',KEYS[2])
  if v==false or v==ARGV[5] then
    if v~=false and ARGV[6]~='leaves' then redis.call('DEL',KEYS[2]) end
    redis.call('HSET',KEYS[1],'owner',ARGV[3],'epoch',ARGV[2]+1)
    redis.call('PEXPIRE',KEYS[1],ARGV[4])
    return {ARGV[3],ARGV[2]+1} end end
return {o[1],tonumber(o[2])}`,
}

/** Keeps sessions alive, and says of each: `session`…; me, ms → 1 mine, 0 not there, 2 another's. */
export const HOLD: Lua = {
  name: 'hold',
  lua: `local r={}
for i,k in ipairs(KEYS) do local o=redis.call('HGET',k,'owner')
  if o==ARGV[1] then redis.call('PEXPIRE',k,ARGV[2]) r[i]=1 elseif o then r[i]=2 else r[i]=0 end end
return r`,
}

/** Gives sessions to a replica that goes on under another id: `session`…; old, me → 1 moved, 0 not. */
export const MOVE: Lua = {
  name: 'move',
  lua: `local r={}
for i,k in ipairs(KEYS) do
  if redis.call('HGET',k,'owner')==ARGV[1] then
    redis.call('HSET',k,'owner',ARGV[2]) redis.call('HINCRBY',k,'epoch',1) r[i]=1 else r[i]=0 end end
return r`,
}

/** Forgets those sessions that are mine: `session`…; me → their number. */
export const FORGET: Lua = {
  name: 'forget',
  lua: `local n=0
for _,k in ipairs(KEYS) do if redis.call('HGET',k,'owner')==ARGV[1] then n=n+redis.call('DEL',k) end end return n`,
}
