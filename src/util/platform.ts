import path from 'node:path'

/** Platform differences that matter here; no other module checks the platform name. */
export interface Platform {
  readonly name: NodeJS.Platform
  /** Path syntax. */
  readonly path: path.PlatformPath
  /** True if process groups can be signalled; otherwise only single processes are stopped. */
  readonly hasGroups: boolean
  /** True if file modes restrict access, and programs have an executable bit. */
  readonly hasModes: boolean
  /** True if local programs connect through named pipes, which are not files. */
  readonly hasPipes: boolean
  /** True if `/proc` has process information. */
  readonly hasProc: boolean
  /** True if Bubblewrap sandboxes are available. */
  readonly hasSandbox: boolean
  /** True if a parent can set resource limits for its children. */
  readonly hasLimits: boolean
}

const UNIX = {
  path: path.posix,
  hasGroups: true,
  hasModes: true,
  hasPipes: false,
  hasProc: false,
  hasSandbox: false,
  hasLimits: true,
}
const WINDOWS = {
  path: path.win32,
  hasGroups: false,
  hasModes: false,
  hasPipes: true,
  hasProc: false,
  hasSandbox: false,
  hasLimits: false,
}

/** Returns a platform's properties. Default: this one. */
export function getPlatform(name: NodeJS.Platform = process.platform): Platform {
  if (name === 'win32') return { name, ...WINDOWS }
  return name === 'linux' ? { name, ...UNIX, hasProc: true, hasSandbox: true } : { name, ...UNIX }
}

const PIPES = '\\\\.\\pipe\\'

/** Returns a local socket's address below a directory; named pipes ignore the directory. */
export function getSocketAddress(directory: string, name: string, { hasPipes }: Platform): string {
  return hasPipes ? `${PIPES}${name}` : `${directory}/${name}`
}

/** Returns the folder that lists all pipes, or the socket directory. */
export function getSocketFolder(directory: () => string, { hasPipes }: Platform): string {
  return hasPipes ? PIPES : `${directory()}/`
}

/** Resolves a configured address; named pipes are never relative. */
export function resolveSocketAddress(address: string, directory: string, platform: Platform): string {
  return platform.hasPipes ? address : platform.path.resolve(directory, address)
}

/** Splits a PATH into folders; undefined if unset. */
export function splitPath(
  searchPath: string | undefined,
  { path: form }: Platform = getPlatform(),
): string[] | undefined {
  return searchPath?.split(form.delimiter)
}
