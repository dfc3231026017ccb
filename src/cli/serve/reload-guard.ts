import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import type { LoadedConfig } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import { builtins } from '../../gateway/builtins.ts'

/** Reloads, except where a program that a plugin started may have written the files: then the owner must say so. */
export function reloadUnlessInReach(running: LoadedConfig, log: Log, reload: () => void): void {
  for (const { name, claims, writes } of builtins) {
    const options = claims?.section === undefined ? undefined : running.config[claims.section]
    const files = options === undefined ? [] : filesIn(writes?.(options as never) ?? [], running)
    if (files.length === 0) continue
    return warn(name, files, log)
  }
  reload()
}

function warn(plugin: string, files: readonly string[], log: Log): void {
  const what = `the configuration has changed, and is not reloaded by itself, as ${plugin} may write where it lies`
  log.warn(`${what}: look at the change, then run "gateway reload"`, { files })
}

/** The files of a configuration that lie in these directories, or are reached through them. */
function filesIn(written: readonly string[], { config, files, directory }: LoadedConfig): string[] {
  if (written.length === 0) return []
  const places = written.map(place => realOrSame(resolve(directory, home(place))))
  return [...files, ...filesOfPlugins({ config, directory })].filter(file =>
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

/** Files beside those of the configuration that its plugins read when they are set up. */
export function filesOfPlugins({ config, directory }: Pick<LoadedConfig, 'config' | 'directory'>): string[] {
  return builtins.flatMap(({ reads }) => reads?.(config) ?? []).map(file => resolve(directory, file))
}
