import { isAbsolute, relative } from 'node:path'
import { isPlain } from '../util/plain-data.ts'
import { appendPointer } from '../util/finding.ts'
import type { LoadedConfig } from './finish-config.ts'
import type { Problem } from './problem.ts'
import { redact } from './secrets.ts'
import { Secrets } from '../util/secrets.ts'
import type { ValueOrigin } from './source/tree.ts'

/** Replaces the configuration; origins remain lazy, as they are expensive. */
export function withConfig(source: LoadedConfig, config: LoadedConfig['config']): LoadedConfig {
  const { file, files, directory, secrets, keys, sections, warnings } = source
  return {
    ...{ config, file, files, directory, secrets, keys, sections, warnings },
    get origins() {
      return source.origins
    },
  }
}

/** A value with its origin. */
export interface DescribedValue {
  readonly pointer: string
  /** `***` for secrets. */
  readonly value: unknown
  /** `gateway.yaml:3:9`, `--set`, `default` or `value`. */
  readonly origin: string
}

/** A redacted configuration for people and programs. */
export interface DescribedConfig {
  readonly file: string | undefined
  readonly files: readonly string[]
  /** Effective configuration, redacted. */
  readonly config: unknown
  readonly origins: readonly DescribedValue[]
  readonly warnings: readonly Problem[]
}

/** Describes a configuration with origins and warnings, redacted. */
export function describeConfig(loaded: LoadedConfig, cwd: string): DescribedConfig {
  const { file, files, config, secrets, warnings } = loaded
  return {
    ...{ file, files, warnings },
    config: redact(config, secrets),
    origins: describeOrigins(loaded, cwd),
  }
}

/** Lists every value with its origin, in order. */
export function describeOrigins(loaded: LoadedConfig, cwd: string): DescribedValue[] {
  const described: DescribedValue[] = []
  const { hide } = new Secrets(loaded.secrets)
  const visit = (value: unknown, pointer: string): void => {
    const inner = isPlain(value) ? Object.entries(value) : Array.isArray(value) ? [...value.entries()] : []
    for (const [key, child] of inner) visit(child, appendPointer(pointer, key))
    if (inner.length === 0)
      described.push({ pointer, value, origin: hide(formatOrigin(loaded.origins.get(pointer), cwd)) })
  }
  visit(redact(loaded.config, loaded.secrets), '')
  return described
}

function formatOrigin(origin: ValueOrigin | undefined, cwd: string): string {
  if (origin?.from === 'set') return '--set'
  if (origin?.from !== 'file') return origin?.from ?? 'default'
  const displayPath = isAbsolute(origin.file) ? relative(cwd, origin.file) : origin.file
  return `${displayPath}:${origin.line}:${origin.col}`
}
