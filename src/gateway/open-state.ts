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
  /** Absolute; made, for its owner alone. */
  readonly directory: string
  /** True to make another one: what was sealed before means nothing then. */
  readonly fresh?: boolean | undefined
  readonly log: Log
}

/**
 * The key that ids and cursors are sealed with, from one run to the next: all processes that share the directory get the
 * same one. Never rejects; where it cannot be kept, ids mean nothing after this run, and the log says so.
 */
export async function loadSealKey({ directory, fresh, log }: SealKeyOptions): Promise<Buffer> {
  const path = join(directory, NAME)
  try {
    return await loadKeyFile(path, BYTES, fresh)
  } catch (error) {
    log.warn('the key of this gateway is not kept: ids of tasks mean nothing after a restart', {
      file: path,
      why: getErrorMessage(error),
    })
    return randomBytes(BYTES)
  }
}

/** Makes the seal of ids and cursors: with a key that outlives this process where anything does. */
export async function openSeal(
  memories: UpstreamMemoryStore | undefined,
  { fresh }: GatewayOptions,
  log: Log,
): Promise<Seal> {
  return memories === undefined
    ? new Seal()
    : new Seal(await loadSealKey({ directory: memories.directory, fresh, log }))
}

/** State that outlives this process, and what of it nobody else may see. */
export async function openState(
  ...given: [
    loaded: LoadedConfig,
    options: GatewayOptions,
    means: { readonly log: Log; readonly clock: Clock },
  ]
): Promise<GatewayState> {
  const [loaded, { state, fresh, ephemeral, environment = {} }, { log, clock }] = given
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
  /** Directory for what plugins keep. */
  readonly directory: string | undefined
  readonly privatePlaces: PrivatePathSet
}

/** Directory that the configuration names, or else the builder of the gateway. */
export function resolveStateDirectory(
  { config: { state }, directory }: Pick<LoadedConfig, 'config' | 'directory'>,
  given: string | undefined,
): string | undefined {
  if (state === false) return undefined
  const place = state === undefined ? given : resolve(directory, state.directory)
  return place === undefined ? undefined : resolve(place)
}
