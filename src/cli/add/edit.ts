import { randomUUID } from 'node:crypto'
import { open, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { cutFromYaml, insertedInYaml, removeFromYaml, setInYaml } from '../../config/source/edit-yaml.ts'
import { fromYaml } from '../../config/source/plain-yaml.ts'
import { refuseUntrusted } from '../../config/source/trust.ts'
import type { LoadedConfig } from '../../config/index.ts'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { mapAt } from '../../util/plain-data.ts'
import { meant } from '../../util/suggest.ts'
import { readSettingsFile, type SettingsFile, writeSettingsFile } from '../clients/settings-file.ts'
import { loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'

/** Change of one upstream: its new entry, or undefined to take it out. */
export interface Change {
  readonly name: string
  readonly upstream: JsonObject | undefined
}

/** A configuration that a new one was made from. */
export interface Edited {
  readonly before: SettingsFile
  readonly after: string
}

const FRESH = 'version: 1\n\nlisteners:\n  stdio: { type: stdio }\n\nupstreams: {}\n'
const STALE_MS = 30_000
const LOCK_TRIES = 100
const LOCK_PAUSE_MS = 50

/** The configuration with a change, comments kept. @throws GatewayError GW_USAGE */
export async function edited(file: string, { name, upstream }: Change): Promise<Edited> {
  const before = await readSettingsFile(file).catch((error: unknown) => {
    throw gatewayError('GW_USAGE', { what: `${file} is not changed: ${reasonOf(error)}` })
  })
  const text = before.text ?? FRESH
  try {
    const known = mapAt(fromYaml(text), 'upstreams')
    if (upstream === undefined) {
      if (!Object.hasOwn(known, name))
        throw new Error(`it has no upstream "${name}"${meant(name, Object.keys(known))}`)
      const plain = removeFromYaml(text, ['upstreams'], name, false)
      return { before, after: same(cutFromYaml(text, ['upstreams'], name), plain) }
    }
    if (Object.hasOwn(known, name))
      throw new Error(`it has an upstream "${name}" already; --name gives another`)
    const plain = setInYaml(text, ['upstreams'], name, upstream, false)
    return { before, after: same(insertedInYaml(text, ['upstreams'], name, upstream), plain) }
  } catch (error) {
    throw gatewayError('GW_USAGE', { what: `${file} is not changed: ${reasonOf(error)}` })
  }
}

/** The text that leaves all else byte for byte, where it says the same as the one that is surely right. */
function same(careful: string | undefined, plain: string): string {
  if (careful === undefined) return plain
  try {
    return isDeepStrictEqual(fromYaml(careful), fromYaml(plain)) ? careful : plain
  } catch {
    return plain
  }
}

/** Loads a configuration that is not in its place yet, from beside it, as paths are relative to it. @throws GatewayError */
export async function tried<T>(
  { path }: SettingsFile,
  text: string,
  terminal: Terminal,
  use: (source: LoadedConfig) => Promise<T>,
): Promise<T> {
  refuseUntrusted(path)
  const draft = join(dirname(path), `.${basename(path, '.yaml')}-${randomUUID()}.try.yaml`)
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    return await use(await loadSource({ config: draft }, terminal))
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

/** Writes a change into the configuration as it is now, and keeps the one before as `.bak`. Two at a time take turns. */
export async function write(
  file: string,
  change: Change,
  check: (edited: Edited) => Promise<void>,
): Promise<Edited> {
  const release = await locked(file)
  try {
    const now = await edited(file, change)
    await check(now)
    if (now.before.text !== undefined) {
      const backup = { ...now.before, path: `${now.before.path}.bak` }
      await writeSettingsFile(backup, now.before.text)
    }
    await writeSettingsFile(now.before, now.after)
    return now
  } finally {
    await release()
  }
}

async function locked(file: string): Promise<() => Promise<void>> {
  const lock = `${file}.lock`
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    try {
      await (await open(lock, 'wx', 0o600)).close()
      return () => unlink(lock).catch(() => undefined)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw gatewayError('GW_USAGE', { what: `${file} is not changed: ${reasonOf(error)}` })
      const held = await stat(lock).catch(() => undefined)
      if (held !== undefined && Date.now() - held.mtimeMs > STALE_MS)
        await unlink(lock).catch(() => undefined)
      else await new Promise(resolve => setTimeout(resolve, LOCK_PAUSE_MS))
    }
  }
  throw gatewayError('GW_USAGE', {
    what: `${file} is not changed: somebody else changes it (${basename(lock)})`,
  })
}
