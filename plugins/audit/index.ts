import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { Clock, Config, Plugin, PluginApi, Session } from '../../src/plugin.ts'
import { defineErrors, gatewayError, compileGlobs, METHODS, parseSize, getErrorMessage, RPC } from '../../src/plugin.ts'
import { JournalFile, JournalStderr } from './journal-file.ts'
import { AuditJournal } from './audit-journal.ts'
import { LineFormatter, TextEncoderCache } from './line-formatter.ts'

const ERRORS = {
  GW_AUDIT: {
    text: 'cannot write the audit log; requests are refused',
    hint: 'Free disk space for audit.file; the gateway then recovers automatically. To serve requests without audit lines, set audit.onFailure to continue.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

const auditError = defineErrors(ERRORS)

const PER_SECOND = 50

type AuditOptions = NonNullable<Config['audit']>

/** Writes one audit line per exchange, whatever its outcome. */
export const audit: Plugin<AuditOptions> = {
  name: 'audit',
  claims: { section: 'audit', records: true },
  errors: ERRORS,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, hooks, slot, clock } = api
    const lines = createLineFormatter(api)
    const methods = buildMethodFilter(options)
    const { journal, release } = openJournal(api, lines)
    const isStrict = options.onFailure === 'refuse'
    const sessions = slot.session(({ client }) => ({ client, who: '' }))

    hooks.ready.tap(() =>
      journal.open(parseSettings(options), isStrict).catch((cause: unknown) => {
        throw gatewayError('GW_PLUGIN_SETUP', { plugin: 'audit', why: getErrorMessage(cause), cause })
      }),
    )
    if (isStrict)
      hooks.request.tap({ stage: 'trace', ...methods }, () => {
        if (journal.isFailing) throw auditError('GW_AUDIT')
      })
    const formatCaller = (session: Session): string => {
      const caller = sessions.get(session)
      // A client may identify itself after the session begins.
      if (caller.who === '' || caller.client !== session.client) {
        caller.client = session.client
        caller.who = lines.formatCaller(session)
      }
      return caller.who
    }
    hooks.settled.tap(methods, exchange => {
      journal.add(lines.formatCall(exchange, formatCaller(exchange.session)))
      // In strict mode the line is written before the caller gets its answer.
      if (isStrict) journal.flushNow()
    })
    hooks.explain.tap((steps, { exchange }) => {
      if (methods.methods?.includes(exchange.method) === false) return undefined
      const base = { by: 'audit', at: 'request' } as const
      const isShut = isStrict && journal.isFailing
      const text = isShut ? 'refused while the audit log cannot be written' : 'an audit line is written'
      return [...steps, { ...base, text, does: isShut ? 'refuses' : 'passes', isPassing: isShut }]
    })
    hooks.auditEvent.tap(event => {
      journal.add(lines.formatEvent(event, event.exchange === undefined ? '' : formatCaller(event.exchange.session)))
      if (isStrict) journal.flushNow()
    })
    const sampler = new RefusalSampler(clock, count => journal.add(lines.formatNote('refused', { more: count })))
    hooks.refused.tap((refusal, credentials) => {
      if (sampler.mayNote()) journal.add(lines.formatRefusal(refusal, credentials))
    })
    hooks.close.tap(() => {
      sampler.reportOmitted()
      return release()
    })
  },
}

function createLineFormatter({ options, hide, clock }: PluginApi<AuditOptions>): LineFormatter {
  return new LineFormatter({
    texts: new TextEncoderCache(hide),
    hide,
    time: () => Date.now(),
    now: () => clock.now(),
    run: randomBytes(4).toString('hex'),
    hashSessions: options.sessions === 'hash',
    showsValues: compileGlobs(options.values ?? []),
  })
}

/** Opens the journal; generations with the same destination share it. */
function openJournal(
  { options, directory, slot, clock, log }: PluginApi<AuditOptions>,
  lines: LineFormatter,
): { journal: AuditJournal; release: () => Promise<void> } {
  const journals = slot.gateway(() => new Map<string, AuditJournal>())
  const file = options.file?.replaceAll('{pid}', String(process.pid))
  const key = file === undefined ? '' : resolve(directory, file)
  const sink = key === '' ? new JournalStderr(text => process.stderr.write(text)) : new JournalFile(key)
  const formatNote = (kind: string, fields: object): string => lines.formatNote(kind, fields)
  const journal = journals.get(key) ?? new AuditJournal(parseSettings(options), { sink, clock, log, note: formatNote })
  journals.set(key, journal)
  // A second signal exits immediately, so flush on exit.
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

function parseSettings({ maxSize, keep, chain }: AuditOptions): {
  maxSize: number
  keep: number
  chain: boolean
} {
  return { maxSize: parseSize(maxSize), keep, chain }
}

/** Omits the method list if all are recorded: a tap without names also receives unknown methods. */
function buildMethodFilter({ methods }: AuditOptions): { methods?: string[] } {
  const isMeant = compileGlobs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}

/** Limits lines about refused requests per second, so that a flood cannot displace other lines. */
class RefusalSampler {
  readonly #clock: Clock
  readonly #report: (more: number) => void
  #since = -Infinity
  #noted = 0
  #more = 0

  /** `tell` receives the omitted line count, once per second with omissions. */
  constructor(clock: Clock, report: (more: number) => void) {
    this.#clock = clock
    this.#report = report
  }

  mayNote(): boolean {
    const now = this.#clock.now()
    if (now - this.#since >= 1000) {
      this.reportOmitted()
      this.#since = now
      this.#noted = 0
    }
    if (this.#noted++ < PER_SECOND) return true
    this.#more++
    return false
  }

  /** Reports the omitted lines. */
  reportOmitted(): void {
    if (this.#more > 0) this.#report(this.#more)
    this.#more = 0
  }
}
