import { existsSync, readFileSync } from 'node:fs'
import { attachWithoutCli } from '../background/attach.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Host } from '../output/terminal.ts'

export interface BundleSettings {
  /** Absolute paths of Node and the launcher, which start the gateway if needed. */
  readonly program: readonly [string, string]
}

/**
 * Relay inside a bundle. The application runs it with its own Node, so the gateway is started with the Node that
 * created the bundle.
 */
export async function runBundled(host: Host, settingsFile: URL): Promise<number> {
  const program = parseProgram(readFileSync(settingsFile, 'utf8'))
  const missing = program.find(path => !existsSync(path))
  if (program.length !== 2 || missing !== undefined) {
    const label = missing ?? 'gateway'
    host.stderr.write(`error: ${label} no longer exists\nhint: create the bundle again: gateway bundle\n`)
    return 1
  }
  const [execPath, launcher] = program
  const own = Object.create(host, {
    execPath: { value: execPath },
    argv: { value: [execPath, launcher] },
  }) as Host
  const code = await attachWithoutCli(host.argv.slice(2), own)
  if (code !== undefined) return code
  host.stderr.write(`error: the gateway at ${launcher ?? ''} could not be started\nhint: gateway doctor\n`)
  return 1
}

function parseProgram(text: string): readonly string[] {
  const settings: unknown = JSON.parse(text)
  const program = isObject(settings) ? settings.program : undefined
  return Array.isArray(program) ? program.map(String) : []
}
