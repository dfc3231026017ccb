import { ERRORS, type ErrorTable } from '../errors/errors.ts'
import { HEALTH, type HealthTable } from '../errors/health.ts'
import type { Plugin } from '../plugin.ts'
import { builtins } from './builtins.ts'

/** Every error of the gateway, of our plugins, and of the others given, by its code. */
export function allErrors(others: readonly Plugin<never>[] = []): ErrorTable {
  const tables = [...builtins, ...others].map(({ errors }) => errors ?? {})
  return Object.assign({}, ERRORS, ...tables) as ErrorTable
}

/** Every finding of the gateway, of our plugins, and of the others given, by its code. */
export function allFindings(others: readonly Plugin<never>[] = []): HealthTable {
  const tables = [...builtins, ...others].map(({ health }) => health ?? {})
  return Object.assign({}, HEALTH, ...tables) as HealthTable
}
