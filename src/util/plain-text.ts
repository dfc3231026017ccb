const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const KIB = 1024

// eslint-disable-next-line no-control-regex -- matches control characters
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Start and end of sequences that set titles, links and clipboards. */
const COMMAND = '\u001b]'
// eslint-disable-next-line no-control-regex -- matches control characters
const COMMAND_END = /\x07|\x1b\\|\x9c/g
/** Other escape sequences (ECMA-48). Adjacent classes are disjoint, so matching is linear. */
// eslint-disable-next-line no-control-regex -- matches control characters
const SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\-~]/g

/** Removes escape sequences in linear time; Node's own function is quadratic. */
export function stripEscapes(text: string): string {
  return stripCommands(text).replace(SEQUENCE, '')
}

/** Unterminated commands, and any later ones, stay unchanged. */
function stripCommands(text: string): string {
  let stripped = ''
  let from = 0
  for (let at = text.indexOf(COMMAND); at >= 0; at = text.indexOf(COMMAND, from)) {
    COMMAND_END.lastIndex = at + COMMAND.length
    const end = COMMAND_END.exec(text)
    if (end === null) break
    stripped += text.slice(from, at)
    from = COMMAND_END.lastIndex
  }
  return stripped + text.slice(from)
}

/**
 * Sanitizes untrusted text for a terminal: no escape sequences, no control characters except line break and tab, no
 * direction changes.
 */
export function sanitizeText(text: string): string {
  return stripEscapes(text).replace(STEERING, '')
}

/** Sanitizes text to one line. */
export function toOneLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, ' ').trim()
}

/** Invisible characters and unusual spaces, except tab and line feed. */
const INVISIBLE = /(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu

/** Escapes invisible characters as `\u…`, or replaces them. */
export function escapeInvisible(text: string, replacement?: string): string {
  return replacement === undefined ? text.replace(INVISIBLE, escapeCharacters) : text.replace(INVISIBLE, replacement)
}

/** Escapes all characters as `\u…`. */
function escapeCharacters(characters: string): string {
  return characters.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Decodes percent escapes; returns the text unchanged if they are invalid. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Truncates text to a number of columns, with an ellipsis. */
export function truncateText(text: string, columns: number): string {
  if (text.length <= columns) return text
  const part = text.slice(0, Math.max(0, columns - 1))
  const end = text[part.length] === ' ' ? part.length : part.lastIndexOf(' ')
  // A word longer than half of the columns is cut.
  return `${(end > columns / 2 ? part.slice(0, end) : part).trimEnd()}…`
}

/** `1 tool`, `2 tools` */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `12s`, `3m 4s`, `2h 5m`, `3d 4h` */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < MINUTE) return `${seconds}s`
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}m ${seconds % MINUTE}s`
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)}h ${Math.floor((seconds % HOUR) / MINUTE)}m`
  return `${Math.floor(seconds / DAY)}d ${Math.floor((seconds % DAY) / HOUR)}h`
}

/** `812 KiB`, `93 MiB`, `1.2 GiB` */
export function formatBytes(bytes: number): string {
  if (bytes < KIB * KIB) return `${Math.round(bytes / KIB)} KiB`
  if (bytes < KIB * KIB * KIB) return `${Math.round(bytes / KIB / KIB)} MiB`
  return `${(bytes / KIB / KIB / KIB).toFixed(1)} GiB`
}
