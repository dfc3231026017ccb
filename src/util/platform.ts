import path from 'node:path'

/** Ways in which systems differ that matter here. Nothing else asks for the system's name to decide anything. */
export interface Platform {
  readonly name: NodeJS.Platform
  /** Form of its paths. */
  readonly path: path.PlatformPath
  /** Processes have groups, which one signal reaches; without, a process is ended alone. */
  readonly hasGroups: boolean
  /** Files have modes that keep others out, and programs one that lets them run. */
  readonly hasModes: boolean
  /** Programs on one machine meet at named pipes, which are no files. */
  readonly hasPipes: boolean
  /** `/proc` tells of processes. */
  readonly hasProc: boolean
  /** Bubblewrap can make a sandbox. */
  readonly hasSandbox: boolean
  /** A parent can set limits for what it starts. */
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

/** The system that this runs on, or another one. */
export function getPlatform(name: NodeJS.Platform = process.platform): Platform {
  if (name === 'win32') return { name, ...WINDOWS }
  return name === 'linux' ? { name, ...UNIX, hasProc: true, hasSandbox: true } : { name, ...UNIX }
}

const PIPES = '\\\\.\\pipe\\'

/** Names of the sockets at which programs of one machine meet, below a directory; where they are pipes, that is not used. */
export function getSocketAddress(directory: string, name: string, { hasPipes }: Platform): string {
  return hasPipes ? `${PIPES}${name}` : `${directory}/${name}`
}

/** The folder that lists all pipes, or the directory of sockets. */
export function getSocketFolder(directory: () => string, { hasPipes }: Platform): string {
  return hasPipes ? PIPES : `${directory()}/`
}

/** Address that somebody wrote: a pipe has no directory that it could be relative to. */
export function resolveSocketAddress(address: string, directory: string, platform: Platform): string {
  return platform.hasPipes ? address : platform.path.resolve(directory, address)
}

/** Folders that a PATH names; undefined where there is none. */
export function splitPath(
  searchPath: string | undefined,
  { path: form }: Platform = getPlatform(),
): string[] | undefined {
  return searchPath?.split(form.delimiter)
}
