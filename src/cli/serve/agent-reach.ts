import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import type { LoadedConfig } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import { isPlain } from '../../util/plain.ts'

/** What an agent may have written takes effect only when its owner says so. */
export function reloadUnlessInReach(running: LoadedConfig, log: Log, reload: () => void): void {
  const files = withinAgentsReach(running)
  if (files.length === 0) return reload()
  const what =
    'the configuration has changed, and is not reloaded by itself, as agents may write where it lies'
  log.warn(`${what}: look at the change, then run "gateway reload"`, { files })
}

/** The files of a configuration that lie where its agents work, or where a sandbox lets them write. */
export function withinAgentsReach({ config, files, directory }: LoadedConfig): string[] {
  const { agents } = config
  if (agents === undefined) return []
  const settings = [agents.defaults, ...Object.values(agents.list)]
  const writable = settings.flatMap(each => {
    const sandbox = each?.sandbox
    return isPlain(sandbox) && Array.isArray(sandbox.write) ? (sandbox.write as string[]) : []
  })
  const places = [...(agents.roots ?? []), ...writable].map(place =>
    realOrSame(resolve(directory, home(place))),
  )
  return files.filter(file =>
    [realOrSame(file), join(realOrSame(dirname(file)), 'x')].some(real =>
      places.some(place => !relative(place, real).startsWith('..')),
    ),
  )
}

function home(place: string): string {
  return place.startsWith('~/') ? join(homedir(), place.slice(2)) : place
}

function realOrSame(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
