import { randomUUID } from 'node:crypto'
import type { Vault } from '../types.ts'

/** Longer than one login takes to go over. */
const LEASE_MS = 10_000

/** Logins that went over, those that were there already, and those that somebody renews now, which stay. */
export interface CarriedOver {
  moved: number
  known: number
  left: number
}

/**
 * Moves the logins of a gateway that was alone from its file to the vault that replicas share. Each is in one of the two, but for one
 * whose mover was killed: the next one finds it in both. A login that is there already stays as it is there.
 */
export async function carryOver(
  file: Pick<Vault, 'list' | 'find' | 'remove' | 'lease' | 'release'>,
  shared: Pick<Vault, 'put'>,
): Promise<CarriedOver> {
  const owner = randomUUID()
  const done: CarriedOver = { moved: 0, known: 0, left: 0 }
  for (const key of await file.list()) {
    const { account, resource, issuer } = key
    // Whoever renews it has it too: its refresh token must not go out twice.
    if (!(await file.lease(key, owner, LEASE_MS))) {
      done.left++
      continue
    }
    try {
      const grant = await file.find(account, resource, issuer)
      if (grant === undefined) continue
      const written = await shared.put(key, grant, 0)
      if (written === undefined) done.known++
      else done.moved++
      await file.remove(key, grant.generation)
    } finally {
      await file.release(key, owner)
    }
  }
  return done
}
