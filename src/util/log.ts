import { withoutSequences } from './plain-text.ts'
import type { Hide } from './secrets.ts'
import { redactValue, Secrets } from './secrets.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

type Level = (typeof LEVELS)[number]

type Fields = Record<string, unknown>

export interface LogOptions {
  readonly level: Level
  /** `pretty` for people, `json` for machines. */
  readonly format: 'pretty' | 'json'
  /** Writes a line; to stderr in the CLI, as stdout belongs to the protocol. */
  readonly write: (line: string) => void
  /** Wall-clock time of a line. */
  readonly time?: () => Date
  /** Replaced by `***` wherever they would appear, in any encoding that programs print them in. */
  readonly secrets?: readonly string[]
  /** Instead of `secrets`, where they change with time. */
  readonly hide?: Hide
}

interface Logger {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  child(fields: Fields): Logger
}

/** A log of one line per event. Control characters of what peers said are escaped in both formats. */
export function createLog(options: LogOptions): Logger {
  return logger(options, {}, options.hide ?? new Secrets(options.secrets).hide)
}

function logger(options: LogOptions, bound: Fields, hide: Hide): Logger {
  const at = (level: Level) => (message: string, fields?: Fields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(options.level)) return
    options.write(printable(hide(line(options, level, message, { ...bound, ...fields }))))
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => logger(options, { ...bound, ...fields }, hide),
  }
}

function line(
  { format, time = () => new Date() }: LogOptions,
  level: Level,
  message: string,
  fields: Fields,
): string {
  const now = time().toISOString()
  if (format === 'json') return JSON.stringify({ time: now, level, message, ...fields }, plain)
  const tail = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        ` ${key}=${typeof value === 'string' ? quoted(withoutSequences(value)) : JSON.stringify(value, plain)}`,
    )
  return `${now.slice(11, 23)} ${level.padEnd(5)} ${withoutSequences(message)}${tail.join('')}`
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return withoutSequences(value.stack ?? value.message)
  return typeof value === 'string' ? withoutSequences(value) : value
}

function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)
}

// eslint-disable-next-line no-control-regex -- they are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text without anything that could steer a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The same log, without secrets in what it is told. */
export function hidingLog(log: Logger, hide: Hide): Logger {
  const at = (level: Level) => (message: string, fields?: Fields) =>
    log[level](hide(message), fields === undefined ? undefined : redactValue(fields, hide))
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => hidingLog(log.child(redactValue(fields, hide)), hide),
  }
}

/** Text of a peer as it may stand in a log or an error: without colours, control characters escaped, cut to `limit`. */
export function visible(said: string, limit: number): string {
  const text = withoutSequences(said)
  return printable(text.length > limit ? `${text.slice(0, limit)}…` : text)
}
