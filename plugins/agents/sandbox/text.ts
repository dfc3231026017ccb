import { oneLine, plainText, type JsonObject } from '../../../src/plugin.ts'

/** Words of an agent without escape sequences, control characters, changes of direction and half characters. */
export function cleanText(text: string): string {
  return plainText(text.toWellFormed())
}

/** One line of it, for logs and messages, of at most so many characters. */
export function cleanLine(text: string, max = 200): string {
  const line = oneLine(text.toWellFormed())
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

/** Takes secrets out of texts of others. */
export interface Cleaner {
  readonly environment: { hide(text: string): string }
}

/** Data of others without secrets; empty if nothing would be left that can be read. */
export function withoutSecrets({ environment }: Cleaner, value: JsonObject): JsonObject {
  try {
    return JSON.parse(environment.hide(JSON.stringify(value))) as JsonObject
  } catch {
    // A secret was more than the inside of a text, or it is too deep to be written.
    return {}
  }
}

/** Text of others as one line: without secrets and control characters, and not too long. */
export function lineOf({ environment }: Cleaner, text: string, max = 500): string {
  return cleanLine(environment.hide(cleanText(text)), max)
}
