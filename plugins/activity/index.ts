import {
  globs,
  METHODS,
  parseDuration,
  parseSize,
  reasonOf,
  type Config,
  type Log,
  type Plugin,
  type Principal,
  type RecentCall,
} from '../../src/plugin.ts'
import { fileOf } from './place.ts'
import { Records } from './records.ts'

type Options = NonNullable<Config['activity']>

/** Issuer of callers by API key: what they may do is written in the configuration. */
const KEYS = 'api-key'

/** Different calls of late that others may ask about. */
const MOST_RECENT = 200

/** Keeps the calls of the last days, in a file that `gateway activity` and `gateway usage` read. */
export const activity: Plugin<Options> = {
  name: 'activity',
  claims: { section: 'activity', records: true },
  commands: () => import('./commands.ts'),
  async setup({ options, directory, hooks, clock, log, hide, slot }) {
    const { RecordCounts, Writer } = await import('./writer.ts')
    const { recentIn } = await import('./read.ts')
    const path = fileOf(options, directory)
    const bounds = { keepMs: parseDuration(options.keep), maxBytes: parseSize(options.maxSize) }
    const settings = { path, ...bounds, maxCalls: options.maxCalls, everyMs: parseDuration(options.every) }
    const counts = slot.gateway(() => new RecordCounts())
    const writer = new Writer(settings, counts, { clock, log })
    const records = new Records(hide, () => clock.now(), options.values ?? [])

    hooks.settled.tap({ ...methodsOf(options), timed: true }, exchange => writer.add(records.of(exchange)))
    hooks.control.for('activity.flush').tap(() => ({ written: writer.flush() }))
    hooks.figures.tap(figures => [...figures, ...counts.figures()])
    hooks.recentCalls.tap(calls => [...calls, ...recent(() => recentIn(path, MOST_RECENT), log)])
    hooks.close.tap(() => writer.close())
  },
}

/** A tap names methods; without names it hears of those that nobody knows, too. */
function methodsOf({ methods }: Options): { methods?: string[] } {
  const isMeant = globs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}

type Row = Readonly<Record<'name' | 'principal' | 'scopes' | 'client' | 'profile', string>>

function recent(read: () => readonly Row[], log: Log): RecentCall[] {
  try {
    return read().map(({ name, principal: key, scopes, client, profile }) => {
      const principal = principalOf(key, scopes)
      const as = principal.issuer === KEYS ? { as: `key:${principal.subject}` } : {}
      return { tool: name, principal, ...as, client, ...(profile === '' ? {} : { profile }) }
    })
  } catch (error) {
    log.warn('activity cannot be read', { reason: reasonOf(error) })
    return []
  }
}

function principalOf(key: string, scopes: string): Principal {
  const parts = JSON.parse(key) as unknown
  const [issuer = '', client = '', subject = ''] = Array.isArray(parts) ? parts.map(String) : []
  return { issuer, client, subject, scopes: scopes === '' ? [] : scopes.split(' ') }
}
