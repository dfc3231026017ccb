import { readFileSync } from 'node:fs'

/** A package in the lockfile. */
export interface Package {
  readonly name: string
  /** Relative path, below node_modules. */
  readonly path: string
  readonly version: string
  readonly license: string
  readonly integrity: string | undefined
  readonly hasInstallScript: boolean
  /** False for development packages and optional ones. */
  readonly isRuntime: boolean
}

interface LockEntry {
  readonly version: string
  readonly license?: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly peer?: boolean
}

export function listPackages(): Package[] {
  const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, LockEntry>> }
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (path === '') return []
    const { version, license = 'unknown', integrity, hasInstallScript = false } = entry
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const isRuntime = !(entry.dev ?? entry.devOptional ?? entry.optional ?? entry.peer ?? false)
    return [{ name, path, version, license, integrity, hasInstallScript, isRuntime }]
  })
}

/** Lists the packages of `npm install tapgate`, without optional ones. */
export function listRuntimePackages(): Package[] {
  return listPackages().filter(({ isRuntime }) => isRuntime)
}
