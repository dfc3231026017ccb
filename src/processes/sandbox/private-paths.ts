import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import type { PrivatePlace } from '../../util/private-place.ts'

/** Directories for temporary files that a gateway makes: control sockets, sockets of workers, HOMEs and worktrees of agents. */
const TEMPORARY = /^tapgate-(\d+$|workers-|agent-|worktrees-)/
const OWN = /^tapgate$/

/** Where every gateway of this user keeps what is its own, whatever its configuration says. */
export function userPlaces(environment: Readonly<Record<string, string | undefined>>): PrivatePlace[] {
  const { HOME = homedir(), TMPDIR = tmpdir(), XDG_RUNTIME_DIR } = environment
  const { XDG_STATE_HOME = path.join(HOME, '.local/state') } = environment
  const { XDG_CACHE_HOME = path.join(HOME, '.cache'), XDG_CONFIG_HOME = path.join(HOME, '.config') } =
    environment
  const own = [XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME]
  return [
    ...[TMPDIR, '/tmp'].map(directory => ({ directory, names: TEMPORARY })),
    ...own.flatMap(directory =>
      directory !== undefined && path.isAbsolute(directory) ? [{ directory, names: OWN }] : [],
    ),
  ]
}
