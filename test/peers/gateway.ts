import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { startChild } from './child.ts'
import type { Child } from './child.ts'

/** The launcher that users run. */
export const LAUNCHER = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

const BUILT = fileURLToPath(new URL('../../dist/src/index.js', import.meta.url))

/** A gateway that runs as its own process, from a gateway.yaml in a directory of its own. */
export interface GatewayProcess {
  readonly url: string
  readonly child: Child
  stop(): Promise<void>
}

/** A gateway.yaml on disk. */
export interface ConfigFile {
  readonly file: string
  remove(): Promise<void>
}

/** Fails with what to do when there is nothing to run. */
export function requireBuild(): void {
  for (const file of [LAUNCHER, BUILT]) {
    if (!existsSync(file)) throw new Error(`${file} is missing: run "npm run build" before this test`)
  }
}

/** Writes `config` as a gateway.yaml. */
export async function writeConfig(config: object): Promise<ConfigFile> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, stringify(config))
  return { file, remove: () => rm(directory, { recursive: true, force: true }) }
}

/** Runs `serve` on `config`, which has one HTTP listener; resolves once it says where it listens. */
export async function serveHttpGateway(config: object): Promise<GatewayProcess> {
  requireBuild()
  const { file, remove } = await writeConfig(config)
  const child = startChild(LAUNCHER, ['serve', '--config', file])
  const stop = async () => {
    await child.stop()
    await remove()
  }
  try {
    return { url: await child.line(line => endpointIn(line, JSON.stringify(config))), child, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

// A URL of the configuration may be logged too; the listener's own is the one that is not in it.
function endpointIn(line: string, config: string): string | undefined {
  const urls: string[] = line.match(/https?:\/\/[\w.[\]:-]+\/mcp\b/g) ?? []
  return urls.find(url => !config.includes(url))
}
