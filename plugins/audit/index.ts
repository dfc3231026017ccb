import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { AuditEvent, Clock, Config, Exchange, Plugin, PluginApi } from '../../src/plugin.ts'
import {
  ANONYMOUS,
  defineErrors,
  gatewayError,
  compileGlobs,
  METHODS,
  parseSize,
  getErrorMessage,
  RPC,
  tryParseJson,
} from '../../src/plugin.ts'
import type { JournalSettings } from './audit-journal.ts'
import { JournalFile, STDERR, AuditJournal } from './audit-journal.ts'

const ERRORS = {
  GW_AUDIT: {
    text: 'cannot write the audit log; requests are refused',
    hint: 'Free disk space for audit.file; the gateway then recovers automatically. To serve requests without audit lines, set audit.onFailure to continue.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

const auditError = defineErrors(ERRORS)

/** Longest event text, so that peers cannot fill the disk. */
const MAX_LENGTH = 256

type AuditOptions = NonNullable<Config['audit']>

/** Writes one audit line per exchange, whatever its outcome. */
export const audit: Plugin<AuditOptions> = {
  name: 'audit',
  claims: { section: 'audit', records: true },
  errors: ERRORS,
  commands: () => import('./commands.ts'),
  setup(api) {
    const { options, hooks, clock } = api
    const lines = new LineFormatter(api)
    const methods = buildMethodFilter(options)
    const { journal, release } = openJournal(api)
    const isStrict = options.onFailure === 'refuse'
    const addLine = (line: string): void => {
      journal.add(line)
      // In strict mode the line is written before the caller gets its answer.
      if (isStrict) journal.flush()
    }

    hooks.ready.tap(() => {
      try {
        journal.open(parseSettings(options), isStrict)
      } catch (cause) {
        throw gatewayError('GW_PLUGIN_SETUP', { plugin: 'audit', why: getErrorMessage(cause), cause })
      }
    })
    if (isStrict)
      hooks.request.tap({ stage: 'trace', ...methods }, () => {
        if (journal.isFailing) throw auditError('GW_AUDIT')
      })
    hooks.settled.tap(methods, exchange => addLine(lines.formatCall(exchange)))
    const sampler = new RefusalSampler(clock, count => journal.add(formatAuditLine('refused', { more: count })))
    hooks.auditEvent.tap(event => {
      if (event.kind !== 'refused') addLine(lines.formatEvent(event))
      else if (sampler.mayNote()) journal.add(lines.formatEvent(event))
    })
    hooks.close.tap(() => {
      sampler.reportOmitted()
      release()
    })
  },
}

/** Formats exchanges, events and refusals as JSON lines. */
class LineFormatter {
  /** Makes ids differ between runs. */
  readonly #run = randomBytes(4).toString('hex')
  readonly #hide: (text: string) => string
  readonly #hasPlainSessions: boolean
  /** True if this tool's or prompt's arguments are logged. */
  readonly #showsValues: (name: string) => boolean

  constructor({ options, hide }: PluginApi<AuditOptions>) {
    this.#hide = hide
    this.#hasPlainSessions = options.sessions === 'plain'
    this.#showsValues = compileGlobs(options.values ?? [])
  }

  formatCall(exchange: Exchange): string {
    const { id, method, name, upstream, original, outcome, by, code, reason, ms, bytesIn, bytesOut, shape, trace } =
      exchange.record
    const values = shape !== undefined && this.#showsValues(name) ? exchange.record.writeArguments() : ''
    return formatAuditLine('call', {
      id: `${this.#run}-${id}`,
      ...this.#describeCaller(exchange),
      method,
      name: omitEmpty(name),
      upstream: omitEmpty(upstream),
      original: omitEmpty(original),
      outcome,
      by: outcome === 'refused' ? by || 'catalog' : undefined,
      code: code === 0 ? undefined : code,
      reason: omitEmpty(reason),
      ms,
      bytesIn,
      bytesOut: bytesOut === 0 ? undefined : bytesOut,
      shape,
      arguments: values === '' ? undefined : (tryParseJson(values) ?? values),
      trace: omitEmpty(trace),
    })
  }

  /** Formats an event outside calls, such as a client request, a permission, an owner action or a refusal. */
  formatEvent({ kind, name, outcome, exchange, fields = {} }: AuditEvent): string {
    const call = exchange && { call: `${this.#run}-${exchange.id}`, ...this.#describeCaller(exchange) }
    const texts = Object.entries(fields).map(([key, value]) => [key, omitEmpty(this.#toText(value))])
    return formatAuditLine(kind, {
      ...call,
      name: omitEmpty(this.#toText(name)),
      upstream: omitEmpty(exchange?.record.upstream),
      ...(Object.fromEntries(texts) as object),
      outcome: this.#toText(outcome),
    })
  }

  #describeCaller({ record, session }: Exchange): object {
    const { principal, listener, client, clientVersion, era } = record
    const isAnonymous = principal[0] === '' && principal[2] === ANONYMOUS.subject
    return {
      session: this.#hasPlainSessions && record.session !== '' ? session.id : omitEmpty(record.session),
      principal: isAnonymous ? ANONYMOUS.subject : principal,
      listener,
      client: omitEmpty(client),
      clientVersion: omitEmpty(clientVersion),
      era,
    }
  }

  /** Hides secrets before truncating, or half a secret could remain. */
  #toText(value: string | number): string | number {
    if (typeof value === 'number') return value
    const text = this.#hide(value)
    return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  }
}

/** Writes a line; undefined members are left out. */
function formatAuditLine(kind: string, fields: object): string {
  return JSON.stringify({ time: new Date().toISOString(), kind, ...fields })
}

function omitEmpty<T>(value: T): T | undefined {
  return value === '' ? undefined : value
}

/** Opens the journal; generations with the same destination share it. */
function openJournal({ options, directory, slot, clock, log }: PluginApi<AuditOptions>): {
  journal: AuditJournal
  release: () => void
} {
  const journals = slot.gateway(() => new Map<string, AuditJournal>())
  const file = options.file?.replaceAll('{pid}', String(process.pid))
  const key = file === undefined ? '' : resolve(directory, file)
  const sink = key === '' ? STDERR : new JournalFile(key)
  const journal =
    journals.get(key) ?? new AuditJournal(parseSettings(options), { sink, clock, log, note: formatAuditLine })
  journals.set(key, journal)
  // A second signal exits immediately, so flush on exit.
  if (journal.owners++ === 0) process.on('exit', journal.flush)
  const release = (): void => {
    journal.owners--
    if (journal.owners > 0) return journal.flush()
    process.off('exit', journal.flush)
    journals.delete(key)
    journal.close()
  }
  return { journal, release }
}

function parseSettings({ maxSize, keep, chain }: AuditOptions): JournalSettings {
  return { maxSize: parseSize(maxSize), keep, chain }
}

/** Omits the method list if all are recorded: a tap without names also receives unknown methods. */
function buildMethodFilter({ methods }: AuditOptions): { methods?: string[] } {
  const isMeant = compileGlobs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}

const PER_SECOND = 50

/** Limits lines about refused requests per second, so that a flood cannot displace other lines. */
class RefusalSampler {
  readonly #clock: Clock
  /** Receives the omitted line count, once per second with omissions. */
  readonly #report: (more: number) => void
  #since = -Infinity
  #noted = 0

  constructor(clock: Clock, report: (more: number) => void) {
    this.#clock = clock
    this.#report = report
  }

  mayNote(): boolean {
    const now = this.#clock.now()
    if (now - this.#since >= 1000) {
      this.reportOmitted()
      this.#since = now
    }
    return ++this.#noted <= PER_SECOND
  }

  reportOmitted(): void {
    if (this.#noted > PER_SECOND) this.#report(this.#noted - PER_SECOND)
    this.#noted = 0
  }
}
