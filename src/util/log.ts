import { stripEscapes } from './plain-text.ts'
import type { HideSecrets } from './secrets.ts'
import { redactValue, Secrets } from './secrets.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

type LogLevel = (typeof LEVELS)[number]

type Fields = Record<string, unknown>

export interface LogOptions {
  readonly level: LogLevel
  /** `pretty` for people, `json` for machines. */
  readonly format: 'pretty' | 'json'
  /** Writes a line; the CLI uses stderr, as stdout carries the protocol. */
  readonly write: (line: string) => void
  /** Wall-clock time of a line. */
  readonly time?: () => Date
  /** Values replaced by `***` in every encoding that programs print. */
  readonly secrets?: readonly string[]
  /** Replaces `secrets` if they change over time. */
  readonly hide?: HideSecrets
}

interface Logger {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  child(fields: Fields): Logger
}

/** Creates a log with one line per event. Control characters from peers are escaped in both formats. */
export function createLog(options: LogOptions): Logger {
  return createLogger(options, {}, options.hide ?? new Secrets(options.secrets).hide)
}

function createLogger(options: LogOptions, bound: Fields, hide: HideSecrets): Logger {
  const at = (level: LogLevel) => (message: string, fields?: Fields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(options.level)) return
    options.write(escapeUnprintable(hide(formatLine(options, level, message, { ...bound, ...fields }))))
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => createLogger(options, { ...bound, ...fields }, hide),
  }
}

function formatLine(
  { format, time = () => new Date() }: LogOptions,
  level: LogLevel,
  message: string,
  fields: Fields,
): string {
  const now = time().toISOString()
  if (format === 'json') return JSON.stringify({ time: now, level, message, ...fields }, sanitizeField)
  const tail = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        ` ${key}=${typeof value === 'string' ? quoteText(stripEscapes(value)) : JSON.stringify(value, sanitizeField)}`,
    )
  return `${now.slice(11, 23)} ${level.padEnd(5)} ${stripEscapes(message)}${tail.join('')}`
}

function sanitizeField(_key: string, value: unknown): unknown {
  if (value instanceof Error) return stripEscapes(value.stack ?? value.message)
  return typeof value === 'string' ? stripEscapes(value) : value
}

function quoteText(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)
}

// eslint-disable-next-line no-control-regex -- matches control characters
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g

/** Escapes characters that could control a terminal. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Creates a log that removes secrets. */
export function createRedactedLog(log: Logger, hide: HideSecrets): Logger {
  const at = (level: LogLevel) => (message: string, fields?: Fields) =>
    log[level](hide(message), fields === undefined ? undefined : redactValue(fields, hide))
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => createRedactedLog(log.child(redactValue(fields, hide)), hide),
  }
}

/** Formats peer text for logs and errors: no colours, control characters escaped, at most `limit` characters. */
export function formatPeerText(raw: string, limit: number): string {
  const text = stripEscapes(raw)
  return escapeUnprintable(text.length > limit ? `${text.slice(0, limit)}…` : text)
}
