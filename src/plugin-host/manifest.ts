import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../protocol/json/json.ts'
import { resolvePluginFile } from './resolve.ts'

/** Command words: `budget show`. */
const WORDS = /^[a-z][\w-]*( [a-z][\w-]*)*$/

/**
 * Lists the commands that a plugin's package declares, each with a summary: `"tapgate": { "commands": { … } }` in the
 * nearest package.json. Runs no plugin code. Returns an empty list if the file is unreadable.
 */
export function listDeclaredCommands(use: string, directory: string): [words: string, summary: string][] {
  try {
    const { tapgate } = readManifest(dirname(resolvePluginFile(use, directory)))
    const commands = isObject(tapgate) && isObject(tapgate.commands) ? tapgate.commands : {}
    return Object.entries(commands).flatMap(([command, summary]) =>
      WORDS.test(command) && typeof summary === 'string' ? [[command, summary]] : [],
    )
  } catch {
    return []
  }
}

function readManifest(directory: string): Record<string, unknown> {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isObject(manifest) ? manifest : {}
  }
  const above = dirname(directory)
  return above === directory ? {} : readManifest(above)
}
