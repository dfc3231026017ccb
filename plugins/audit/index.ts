import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import {
  gatewayError,
  globs,
  METHODS,
  parseSize,
  reasonOf,
  type Config,
  type Plugin,
  type PluginApi,
  type Session,
} from '../../src/plugin.ts'
import { Doorstep } from './doorstep.ts'
import { JournalFile } from './journal-file.ts'
import { JournalStderr } from './journal-stderr.ts'
import { Journal } from './journal.ts'
import { Lines } from './lines.ts'
import { Texts } from './texts.ts'

type AuditOptions = NonNullable<Config['audit']>

/** Writes down who called what and what came of it: one line for each exchange, whatever happened to it. */
export const audit: Plugin<AuditOptions> = {
  name: 'audit',
  claims: { section: 'audit' },
  setup(api) {
    const { options, hooks, slot, clock } = api
    const lines = linesOf(api)
    const methods = methodsOf(options)
    const { journal, release } = journalOf(api, lines)
    const isStrict = options.onFailure === 'refuse'
    const sessions = slot.session(({ client }) => ({ client, who: '' }))

    hooks.ready.tap(() =>
      journal.open(settingsOf(options), isStrict).catch((cause: unknown) => {
        throw gatewayError('GW_PLUGIN_SETUP', { plugin: 'audit', why: reasonOf(cause), cause })
      }),
    )
    if (isStrict)
      hooks.request.tap({ stage: 'trace', ...methods }, () => {
        if (journal.isFailing) throw gatewayError('GW_AUDIT')
      })
    const whoIn = (session: Session): string => {
      const known = sessions.get(session)
      // What a client says of itself may come later than its session.
      if (known.who === '' || known.client !== session.client) {
        known.client = session.client
        known.who = lines.who(session)
      }
      return known.who
    }
    hooks.settled.tap(methods, exchange => {
      journal.add(lines.call(exchange, whoIn(exchange.session)))
      // Strict: the line is with the operating system before its caller has the answer.
      if (isStrict) journal.flushNow()
    })
    hooks.recorded.tap(event => {
      journal.add(lines.event(event, event.exchange === undefined ? '' : whoIn(event.exchange.session)))
      if (isStrict) journal.flushNow()
    })
    const doorstep = new Doorstep(clock, count => journal.add(lines.note('refused', { more: count })))
    hooks.refused.tap((refusal, credentials) => {
      if (doorstep.mayNote()) journal.add(lines.refused(refusal, credentials))
    })
    hooks.close.tap(() => {
      doorstep.end()
      return release()
    })
  },
}

function linesOf({ options, hide, clock }: PluginApi<AuditOptions>): Lines {
  return new Lines({
    texts: new Texts(hide),
    hide,
    time: () => Date.now(),
    now: () => clock.now(),
    run: randomBytes(4).toString('hex'),
    hashSessions: options.sessions === 'hash',
    showsValues: globs(options.values ?? []),
  })
}

/** Generations that write to one place share its journal. */
function journalOf(
  { options, directory, slot, clock, log }: PluginApi<AuditOptions>,
  lines: Lines,
): { journal: Journal; release: () => Promise<void> } {
  const journals = slot.gateway(() => new Map<string, Journal>())
  const file = options.file?.replaceAll('{pid}', String(process.pid))
  const key = file === undefined ? '' : resolve(directory, file)
  const sink = key === '' ? new JournalStderr(text => process.stderr.write(text)) : new JournalFile(key)
  const note = (kind: string, fields: object): string => lines.note(kind, fields)
  const journal = journals.get(key) ?? new Journal(settingsOf(options), { sink, clock, log, note })
  journals.set(key, journal)
  // A second signal exits at once.
  if (journal.owners++ === 0) process.on('exit', journal.flushNow)
  const release = async (): Promise<void> => {
    journal.owners--
    if (journal.owners > 0) return journal.flush()
    process.off('exit', journal.flushNow)
    journals.delete(key)
    await journal.close()
  }
  return { journal, release }
}

function settingsOf({ maxSize, keep, chain }: AuditOptions): {
  maxSize: number
  keep: number
  chain: boolean
} {
  return { maxSize: parseSize(maxSize), keep, chain }
}

/** A tap names methods; without names it hears of those that nobody knows, too. */
function methodsOf({ methods }: AuditOptions): { methods?: string[] } {
  const isMeant = globs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}
