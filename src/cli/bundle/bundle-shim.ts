import { existsSync, readFileSync } from 'node:fs'
import { attachWithoutCli } from '../background/attach.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { Host } from '../output/terminal.ts'

/** Facts of the machine that a bundle was made on. */
export interface BundleSettings {
  /** Whole paths of Node and of the gateway's launcher, which start a gateway where none runs. */
  readonly program: readonly [string, string]
}

/**
 * The shim as a bundle has it: a relay to the gateway of a configuration. The application that has the bundle runs it with
 * a Node of its own, so a gateway is started with the one that made the bundle.
 */
export async function runBundled(host: Host, settingsFile: URL): Promise<number> {
  const program = parseProgram(readFileSync(settingsFile, 'utf8'))
  const missing = program.find(path => !existsSync(path))
  if (program.length !== 2 || missing !== undefined) {
    const what = missing ?? 'gateway'
    host.stderr.write(`error: ${what} is not there any more\nhint: make the bundle anew: gateway bundle\n`)
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
