import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const CACHE = process.env.TAPGATE_CLIENTS ?? join(homedir(), '.cache', 'tapgate-clients')
const INSTALL_MS = 180_000

/** Directory of a client's programs. */
export interface Installed {
  readonly bin: string
  readonly version: string
}

/** Installs a client from npm into a directory of its own, once. Throws with the reason when that cannot be done. */
export async function install(spec: string): Promise<Installed> {
  const folder = join(CACHE, spec.replaceAll('/', '+'))
  const name = spec.slice(0, spec.lastIndexOf('@'))
  const manifest = join(folder, 'node_modules', name, 'package.json')
  if (!existsSync(manifest)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', spec]
    await promisify(execFile)('npm', args, { cwd: folder, timeout: INSTALL_MS })
  }
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { bin: join(folder, 'node_modules', '.bin'), version }
}
