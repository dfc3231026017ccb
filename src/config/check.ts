import { mapAt } from '../util/plain.ts'
import { checkAccess } from './checks/access.ts'
import { checkAgents } from './checks/agents.ts'
import { checkCache } from './checks/cache.ts'
import { checkCommands } from './checks/commands.ts'
import { checkForwarded } from './checks/forwarded.ts'
import { checkGlobs } from './checks/globs.ts'
import { checkListeners } from './checks/listeners.ts'
import { checkNames } from './checks/names.ts'
import { checkPaths } from './checks/paths.ts'
import { checkPrefixes } from './checks/prefixes.ts'
import { checkProfiles } from './checks/profiles.ts'
import { checkPools } from './checks/pools.ts'
import { checkProcesses } from './checks/processes.ts'
import { checkRoutes } from './checks/routes.ts'
import type { Report } from './problem.ts'

/** What a schema cannot say: names that must exist, clashes, and what can never happen. Takes any value, valid or not. */
export function check(config: unknown, isFile: (path: string) => boolean, report: Report): void {
  checkNames(config, report)
  checkGlobs(config, report)
  checkAgents(config, report)
  checkPrefixes(config, report)
  checkListeners(config, report)
  checkPaths(config, report)
  checkCommands(config, isFile, report)
  checkPools(config, report)
  checkProcesses(config, process.platform, report)
  checkForwarded(config, report)
  checkAccess(config, report)
  checkProfiles(config, report)
  checkRoutes(config, report)
  checkCache(config, report)
  checkPresence(config, report)
}

function checkPresence(config: unknown, report: Report): void {
  if (Object.keys(mapAt(config, 'listeners')).length === 0) {
    report({
      pointer: '',
      message: 'no listeners: nobody can connect',
      hint: 'add one, or serve with --stdio',
      severity: 'warning',
    })
  }
  const hasAgents = Object.keys(mapAt(config, 'agents')).length > 0
  if (Object.keys(mapAt(config, 'upstreams')).length === 0 && !hasAgents) {
    report({
      pointer: '',
      message: 'no upstreams: there is nothing to serve',
      hint: 'add one under "upstreams:"',
      severity: 'warning',
    })
  }
}
