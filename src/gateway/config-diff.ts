import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/index.ts'
import type { ConfigChanges, Differences } from '../api/gateway.ts'
import type { Generation } from './generation.ts'

const NAMED: readonly string[] = ['upstreams', 'listeners'] satisfies (keyof Config)[]

/** What is another in the next generation. */
export function changesBetween(before: Generation, next: Generation): ConfigChanges {
  return changesOf(before.graph.config, next.graph.config)
}

/** What is another in the next configuration. */
export function changesOf(old: Config, now: Config): ConfigChanges {
  const keys = new Set([...Object.keys(old), ...Object.keys(now)] as (keyof Config)[])
  return {
    upstreams: differences(enabled(old), enabled(now)),
    listeners: differences(entries(old.listeners), entries(now.listeners)),
    settings: [...keys].filter(key => !NAMED.includes(key) && !isDeepStrictEqual(old[key], now[key])),
  }
}

function differences(old: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): Differences {
  const both = [...now.keys()].filter(name => old.has(name))
  const isKept = (name: string): boolean => isDeepStrictEqual(old.get(name), now.get(name))
  return {
    added: [...now.keys()].filter(name => !old.has(name)),
    removed: [...old.keys()].filter(name => !now.has(name)),
    changed: both.filter(name => !isKept(name)),
    kept: both.filter(isKept),
  }
}

function entries(values: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(values))
}

function enabled({ upstreams }: Config): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(upstreams).filter(([, spec]) => spec.enabled))
}
