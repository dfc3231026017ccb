import type { Report } from '../../src/plugin.ts'
import { readMap, appendPointer, readValue } from '../../src/plugin.ts'

interface CacheSection {
  readonly value: unknown
  readonly pointer: string
}

/** Reports cache rules that are ineffective or contradictory. */
export function check(config: unknown, report: Report): void {
  const sections = listSections(config)
  if (readValue(config, 'cache') === false) {
    for (const { pointer } of sections.slice(1))
      report({
        pointer,
        message: 'is never used',
        hint: '"cache: false" disables the cache',
        severity: 'warning',
      })
    return
  }
  const isCredential = createCredentialTest(config)
  for (const section of sections) {
    checkTools(section, report)
    checkVary(section, isCredential, report)
  }
}

/** Returns a test for headers that carry credentials. */
function createCredentialTest(config: unknown): (header: string) => boolean {
  const keyHeader = readMap(config, 'auth').keyHeader
  const own = typeof keyHeader === 'string' ? keyHeader.toLowerCase() : 'x-api-key'
  const names = new Set(['authorization', 'proxy-authorization', 'cookie', own])
  return header => names.has(header.toLowerCase())
}

/** Credential headers are removed at the listener, and answers are separated by caller anyway. */
function checkVary({ value, pointer }: CacheSection, isCredential: (header: string) => boolean, report: Report): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const at = appendPointer(pointer, key)
    if (key !== 'vary' || !Array.isArray(inner)) {
      checkVary({ value: inner, pointer: at }, isCredential, report)
      continue
    }
    inner.forEach((entry: unknown, i) => {
      const header = typeof entry === 'string' && entry.startsWith('header:') ? entry.slice('header:'.length) : ''
      if (!isCredential(header)) return
      const message = `header "${header}" is a credential and not available to rules`
      report({ pointer: `${at}/${i}`, message, hint: 'remove it: answers are always separated by caller' })
    })
  }
}

/** Lists the global section, followed by the upstreams' sections. */
function listSections(config: unknown): CacheSection[] {
  const upstreams = readMap(config, 'upstreams')
  const own = Object.keys(upstreams).map(name => ({
    value: readValue(upstreams, name, 'cache'),
    pointer: `${appendPointer('/upstreams', name)}/cache`,
  }))
  const maps = own.filter(({ value }) => typeof value === 'object' && value !== null)
  return [{ value: readValue(config, 'cache'), pointer: '/cache' }, ...maps]
}

function checkTools({ value, pointer }: CacheSection, report: Report): void {
  const tools = readMap(value, 'tools')
  for (const glob of Object.keys(tools)) {
    if (typeof tools[glob] !== 'object') continue
    checkRule(readMap(tools, glob), appendPointer(`${pointer}/tools`, glob), report)
  }
}

function checkRule(rule: Readonly<Record<string, unknown>>, pointer: string, report: Report): void {
  const { ttl, purges } = rule
  if (ttl === undefined && purges === undefined) {
    report({
      pointer,
      message: 'this rule has no effect',
      hint: 'set "ttl" or "purges"',
      on: 'key',
    })
  } else if (ttl !== undefined && purges !== undefined) {
    const message = 'a tool that purges others modifies data, so its own answers are not cached'
    report({ pointer: `${pointer}/ttl`, message, hint: 'remove "ttl" or "purges"', on: 'key' })
  }
}
