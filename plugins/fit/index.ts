import type { Config, JsonObject, Plugin, Report } from '../../src/plugin.ts'
import {
  BoundedMap,
  suggestName,
  readMap,
  parseDuration,
  appendPointer,
  readText,
  findUnclosed,
} from '../../src/plugin.ts'
import { tapAsTools } from './as-tools.ts'
import type { FittedList } from './fitter.ts'
import { Fitter } from './fitter.ts'
import type { ClientProfile } from './client-profiles.ts'
import { CLIENTS, ClientProfiles } from './client-profiles.ts'

const MAX_LOGGED = 10_000

/** Adapts lists to each client. The core maps changed names back, so calls are not affected. */
export const fit: Plugin<NonNullable<Config['fit']>> = {
  name: 'fit',
  claims: { section: 'fit', profile: ['fit'] },
  check: checkFit,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, hooks, log, slot } = api
    if (options === false) return
    const profiles = new ClientProfiles(options.clients ?? {})
    const fitters = new Map<ClientProfile, Fitter>()
    const last = new Map<string, FittedList>()
    const asTools = tapAsTools(api, name => profiles.getProfile(name))
    const loggedClients = slot.gateway(() => new BoundedMap<string, true>({ max: MAX_LOGGED }))

    // Before plugins that select entries: they must see the displayed names and schemas.
    hooks.listing.tap(
      {
        stage: 'limit',
        readers: reader =>
          profiles.getProfile(reader.client.name).client + (asTools?.listsSkills(reader) ? ' with skills' : ''),
      },
      (entries, reader) => {
        if (reader.kind !== 'tools') return undefined
        const profile = profiles.getProfile(reader.client.name)
        let fitter = fitters.get(profile)
        if (fitter === undefined) fitters.set(profile, (fitter = new Fitter(profile, options.server)))
        const fitted = fitter.fit(entries)
        last.set(profile.client, fitted)
        for (const { upstream, name, unfit } of fitted.changes) {
          if (unfit === undefined) continue
          const key = JSON.stringify([profile.client, upstream, name, unfit])
          if (loggedClients.has(key)) continue
          loggedClients.set(key, true)
          log.warn(
            `tool "${name.slice(0, 200)}" of upstream "${upstream}" is hidden from ${profile.client}: ${unfit}`,
            {
              hint: 'it can still be called by its name; see "gateway fit", or set fit.clients',
            },
          )
        }
        const made = fitted.changes.length === 0 ? entries : fitted.entries
        return asTools?.addTools(made, reader) ?? made
      },
    )
    hooks.services.tap(services => ({
      ...services,
      getClientLimits(name) {
        const { patience, largestResult } = profiles.getProfile(name)
        return {
          ...services.getClientLimits?.(name),
          ...(patience === undefined ? {} : { timeoutMs: parseDuration(patience) }),
          ...(largestResult === undefined ? {} : { maxResultTokens: largestResult }),
        }
      },
    }))
    hooks.control.for('fit.report').tap({ readOnly: true }, params => {
      const profile = profiles.getNamedProfile(String(params.client ?? 'unknown'))
      return createClientReport(profile, last.get(profile.client))
    })
  },
}

function createClientReport(profile: ClientProfile, fitted: FittedList | undefined): JsonObject {
  const { client, longestName, mostTools, dialect } = profile
  const tools = fitted?.tools ?? 0
  return {
    client,
    dialect,
    ...(longestName === undefined ? {} : { longestName }),
    tools,
    ...(mostTools !== undefined && tools > mostTools ? { tooMany: mostTools } : {}),
    changes: (fitted?.changes ?? []).map(change => ({ ...change })),
  }
}

/** Reports unknown clients and invalid globs. */
function checkFit(config: unknown, report: Report): void {
  for (const [pattern, spec] of Object.entries(readMap(config, 'fit', 'clients'))) {
    const pointer = appendPointer('/fit/clients', pattern)
    const like = readText({ spec }, 'spec', 'like')
    if (like !== undefined && !CLIENTS.includes(like))
      report({
        pointer: `${pointer}/like`,
        message: `unknown client "${like}"`,
        hint: suggestName(like, CLIENTS) ?? `known clients: ${CLIENTS.join(', ')}`,
      })
    const open = findUnclosed(pattern)
    if (open !== undefined) report({ pointer, message: `unclosed "${open}" in glob`, severity: 'warning', on: 'key' })
  }
}
