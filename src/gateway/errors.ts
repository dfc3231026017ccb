import { ERRORS, type ErrorTable } from '../errors/errors.ts'
import type { Plugin } from '../plugin.ts'
import { builtins } from './builtins.ts'

/** Every error of the gateway, of our plugins, and of the others given, by its code. */
export function allErrors(others: readonly Plugin<never>[] = []): ErrorTable {
  const tables = [...builtins, ...others].map(({ errors }) => errors ?? {})
  return Object.assign({}, ERRORS, ...tables) as ErrorTable
}
