import type { Planned, PlannedServer, PlannedTool } from './plan.ts'

/** Verdict that a call of late meets now, and the one that it would meet. */
export interface ChangedVerdict {
  readonly tool: string
  readonly caller: string
  readonly client: string
  readonly now: string
  readonly then: string
}

/** All that would be another one. */
export interface Plan {
  readonly servers: {
    readonly started: readonly string[]
    readonly stopped: readonly string[]
    /** Are there before and after, and are started anew. */
    readonly restarted: readonly string[]
    /** Go on, under other settings. */
    readonly changed: readonly string[]
    readonly kept: readonly string[]
    /** Servers that could not be asked for their tools, and why. */
    readonly unknown: Readonly<Record<string, string>>
  }
  readonly tools: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly renamed: readonly { readonly from: string; readonly to: string }[]
    readonly changed: readonly string[]
  }
  /** Other keys of the configuration that differ. */
  readonly settings: readonly string[]
  readonly verdicts: readonly ChangedVerdict[]
  /** Calls of late that were compared. */
  readonly compared: number
}

/** Compares two configurations by what they make of servers and tools. */
export function differencesOf(now: Planned, then: Planned): Omit<Plan, 'verdicts' | 'compared'> {
  return { servers: ofServers(now, then), tools: ofTools(now, then), settings: ofSettings(now, then) }
}

function ofServers(now: Planned, then: Planned): Plan['servers'] {
  const before = new Map(now.servers.map(server => [server.name, server]))
  const after = new Map(then.servers.map(server => [server.name, server]))
  const both = [...after.values()].filter(({ name }) => before.has(name))
  const isSame = ({ name, digest }: PlannedServer): boolean => before.get(name)?.digest === digest
  const isUntouched = ({ name, settings }: PlannedServer): boolean => before.get(name)?.settings === settings
  const names = (servers: Iterable<PlannedServer>): string[] => [...servers].map(({ name }) => name)
  const unknown = then.servers.filter(({ tools, problem }) => tools === undefined || problem !== undefined)
  return {
    started: names([...after.values()].filter(({ name }) => !before.has(name))),
    stopped: names([...before.values()].filter(({ name }) => !after.has(name))),
    restarted: names(both.filter(one => !isSame(one))),
    changed: names(both.filter(one => isSame(one) && !isUntouched(one))),
    kept: names(both.filter(one => isSame(one) && isUntouched(one))),
    unknown: Object.fromEntries(unknown.map(({ name, problem = 'it lists no tools' }) => [name, problem])),
  }
}

function ofTools(now: Planned, then: Planned): Plan['tools'] {
  const key = ({ upstream, original }: PlannedTool): string => JSON.stringify([upstream, original])
  const before = new Map(now.tools.map(tool => [key(tool), tool]))
  const after = new Map(then.tools.map(tool => [key(tool), tool]))
  // Nobody knows whether a server that could not be asked still has them.
  const isUnknown = new Set(then.servers.filter(({ tools }) => tools === undefined).map(({ name }) => name))
  const both = [...after].flatMap(([at, to]) => {
    const from = before.get(at)
    return from === undefined ? [] : [{ from, to }]
  })
  return {
    added: [...after].filter(([at]) => !before.has(at)).map(([, { name }]) => name),
    removed: [...before]
      .filter(([at, { upstream }]) => !after.has(at) && !isUnknown.has(upstream))
      .map(([, { name }]) => name),
    renamed: both
      .filter(({ from, to }) => from.name !== to.name)
      .map(({ from, to }) => ({ from: from.name, to: to.name })),
    changed: both.filter(({ from, to }) => from.digest !== to.digest).map(({ to }) => to.name),
  }
}

function ofSettings(now: Planned, then: Planned): string[] {
  const keys = [...new Set([...Object.keys(now.settings), ...Object.keys(then.settings)])]
  return keys.filter(key => now.settings[key] !== then.settings[key]).sort()
}

/** True if anything would be another one. */
export function changesAnything({ servers, tools, settings, verdicts }: Plan): boolean {
  const { started, stopped, restarted, changed } = servers
  const lists = [started, stopped, restarted, changed, ...Object.values(tools), settings, verdicts]
  return lists.some(list => list.length > 0)
}
