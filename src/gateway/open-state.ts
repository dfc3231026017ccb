import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { GatewayOptions } from '../api/gateway.ts'
import type { Clock, Log } from '../api/index.ts'
import type { LoadedConfig } from '../config/index.ts'
import { Seal } from '../core/seal.ts'
import { getErrorMessage } from '../errors/errors.ts'
import { listOwnFolders } from '../processes/sandbox-paths.ts'
import { UpstreamMemoryStore } from '../store/upstream-memory-store.ts'
import { PrivatePathSet } from '../util/private-path.ts'
import { loadKeyFile } from '../util/storage/key-file.ts'

const NAME = 'seal.key'
const BYTES = 32

interface SealKeyOptions {
  /** Absolute; created with owner-only permissions. */
  readonly directory: string
  /** True to replace the key: data sealed before becomes invalid. */
  readonly fresh?: boolean | undefined
  readonly log: Log
}

/**
 * Loads the key that seals ids and cursors across runs: the same for all processes that share the directory. Never
 * rejects; if it cannot be stored, ids are invalid after this run, and a warning is logged.
 */
export async function loadSealKey({ directory, fresh, log }: SealKeyOptions): Promise<Buffer> {
  const path = join(directory, NAME)
  try {
    return await loadKeyFile(path, BYTES, fresh)
  } catch (error) {
    log.warn('storing the gateway key failed: task ids become invalid after a restart', {
      file: path,
      why: getErrorMessage(error),
    })
    return randomBytes(BYTES)
  }
}

/** Creates the seal for ids and cursors, with a persistent key if there is a state directory. */
export async function openSeal(
  memories: UpstreamMemoryStore | undefined,
  { fresh }: GatewayOptions,
  log: Log,
): Promise<Seal> {
  return memories === undefined
    ? new Seal()
    : new Seal(await loadSealKey({ directory: memories.directory, fresh, log }))
}

/** Persistent state, and its private paths. */
export async function openState(
  ...args: [loaded: LoadedConfig, options: GatewayOptions, means: { readonly log: Log; readonly clock: Clock }]
): Promise<GatewayState> {
  const [loaded, { state, fresh, ephemeral, environment = {} }, { log, clock }] = args
  const directory = resolveStateDirectory(loaded, state)
  const isOwn = directory !== undefined && ephemeral !== true
  const memories = isOwn ? await UpstreamMemoryStore.open({ directory, fresh, log, clock }) : undefined
  const privatePlaces = new PrivatePathSet()
  privatePlaces.add(listOwnFolders(environment))
  if (directory !== undefined) privatePlaces.add([{ directory }])
  return { memories, directory, privatePlaces }
}

interface GatewayState {
  readonly memories: UpstreamMemoryStore | undefined
  /** Directory for plugin state. */
  readonly directory: string | undefined
  readonly privatePlaces: PrivatePathSet
}

/** Returns the configured state directory, or the one from the gateway options. */
export function resolveStateDirectory(
  { config: { state }, directory }: Pick<LoadedConfig, 'config' | 'directory'>,
  fallback: string | undefined,
): string | undefined {
  if (state === false) return undefined
  const location = state === undefined ? fallback : resolve(directory, state.directory)
  return location === undefined ? undefined : resolve(location)
}
