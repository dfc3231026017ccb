import { stat } from 'node:fs/promises'
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { GatewayError, PluginApi } from '../../src/plugin.ts'
import { agentError } from './errors.ts'
import { cleanLine } from './store/task-journal.ts'

/** Allowed root directories as real paths. Relative paths resolve against the first root or the task's directory. */
export class Roots {
  readonly #real: readonly string[]

  /** @throws GatewayError GW_AGENT_PATH for a root that does not exist */
  constructor(names: readonly string[], directory: string) {
    this.#real = names.map(name => {
      try {
        return realpathSync(resolve(directory, name))
      } catch {
        throw createPathError('root', name, 'does not exist')
      }
    })
  }

  get first(): string {
    return this.#real[0] ?? '/'
  }

  /** Resolves a task directory. @throws GatewayError GW_AGENT_PATH */
  async resolveDirectory(path: string): Promise<string> {
    const real = this.#resolveInside('cwd', path, this.first)
    if (!(await stat(real)).isDirectory()) throw createPathError('cwd', path, 'is not a directory')
    return real
  }

  /** Resolves a task file. @throws GatewayError GW_AGENT_PATH */
  async resolveFile(path: string, cwd: string): Promise<string> {
    const real = this.#resolveInside('file', path, cwd)
    if (!(await stat(real)).isFile()) throw createPathError('file', path, 'is not a regular file')
    return real
  }

  /** Uses the same message for missing and existing paths outside the roots. */
  #resolveInside(label: string, path: string, base: string): string {
    if (path.includes('\0')) throw createPathError(label, path, 'contains a NUL character')
    const file = resolve(base, path)
    const real = resolveRealPath(file)
    if (!this.#real.some(root => isWithin(root, real))) throw createPathError(label, path, 'is outside the roots')
    try {
      return realpathSync(file)
    } catch {
      throw createPathError(label, path, 'does not exist')
    }
  }
}

/** Resolves a path's existing part to its real path. */
export function resolveRealPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    const parent = dirname(file)
    return parent === file ? file : join(resolveRealPath(parent), basename(file))
  }
}

/** True if a real path equals a directory or is below it: `/srv/work2` is not within `/srv/work`. */
export function isWithin(directory: string, file: string): boolean {
  return file === directory || file.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
}

/** Returns the first root that overlaps the gateway's private paths, or undefined. */
export function findRootOfGateway(
  roots: readonly string[],
  directory: string,
  privatePaths: PluginApi['privatePaths'],
): string | undefined {
  return roots.find(name => {
    const root = resolveRealPath(resolve(directory, name))
    return privatePaths.some(({ directory: written, names }) => {
      const privateDirectory = resolveRealPath(written)
      if (isWithin(root, privateDirectory)) return true
      if (!isWithin(privateDirectory, root)) return false
      return names === undefined || names.test(root.slice(privateDirectory.length + 1).split('/', 1)[0] ?? '')
    })
  })
}

export function createPathError(label: string, path: string, why: string): GatewayError {
  return agentError('GW_AGENT_PATH', { what: label, path: cleanLine(path), why })
}
