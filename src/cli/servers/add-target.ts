import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { deriveCommandName } from '../server-names.ts'
import { REGISTRY_NAME } from './registry.ts'
import type { LaunchOption } from './launch-options.ts'
import { parsePackage } from './launch-options.ts'
import { createLocalEntry, createRemoteEntry } from './server-entry.ts'

/** Parsed `gateway add` argument. */
export type AddTarget =
  | { readonly by: 'registry'; readonly name: string; readonly version: string | undefined }
  | { readonly by: 'option'; readonly option: LaunchOption; readonly suggested: string }

const NO_INPUTS: LaunchOption['inputs'] = []

/**
 * Parses `npm:`, `pypi:`, `docker:`, `openapi:`, a URL, a registry name, or a command. After a name or package,
 * `command` holds extra arguments.
 * @throws GatewayError GW_USAGE
 */
export function parseTarget(text: string | undefined, command: readonly string[]): AddTarget {
  if (text === undefined && command.length > 0) return createCommandTarget(command)
  if (text === undefined)
    throw createUsageError('missing server: give a registry name, npm:package@version, a URL, or -- and a command')
  const [, kind = '', reference = ''] = /^(npm|pypi|docker|openapi):(.+)$/s.exec(text) ?? []
  if (kind === 'openapi') return createOpenApiTarget(reference)
  if (kind !== '') return parsePackageTarget(kind, reference)
  return /^https?:\/\//i.test(text) ? parseUrlTarget(text) : parseRegistryName(text)
}

function parseRegistryName(text: string): AddTarget {
  const [, name = '', version] = /^([^@]+)(?:@(.+))?$/s.exec(text) ?? []
  if (REGISTRY_NAME.test(name)) return { by: 'registry', name, version }
  const forms = 'io.github.owner/server, npm:…, pypi:…, docker:…, openapi:…, https://…'
  const excerpt = text.slice(0, 100)
  if (/^@[\w.-]+\/[\w.-]+(@[\w.-]+)?$/.test(text))
    throw createUsageError(`"${excerpt}" – did you mean "npm:${excerpt}"?`)
  const search = /^[\w.-]+$/.test(text) ? `; run gateway search ${excerpt} to find a name` : ''
  throw createUsageError(`"${excerpt}" is not one of: ${forms}${search}`)
}

function createCommandTarget(command: readonly string[]): AddTarget {
  const [program = '', ...args] = command
  return createDirectTarget('command', command.join(' '), createLocalEntry(program, args), deriveCommandName(command))
}

function parsePackageTarget(kind: string, text: string): AddTarget {
  const isImage = kind === 'docker'
  const [, identifier = text, version] = isImage ? [] : (/^(.+?)(?:@|==)([^@=]+)$/s.exec(text) ?? [])
  const option = parsePackage({
    registryType: isImage ? 'oci' : kind,
    identifier,
    ...(version === undefined ? {} : { version }),
  })
  if ('why' in option) {
    const hint = version === undefined && !isImage ? `; write ${kind}:${identifier}@<version> to pin the version` : ''
    throw createUsageError(`${option.why}${hint}`)
  }
  return { by: 'option', option, suggested: identifier }
}

function parseUrlTarget(text: string): AddTarget {
  const url = URL.parse(text)
  if (url === null || url.username !== '')
    throw createUsageError(
      `"${text.slice(0, 100)}" is not a URL, or contains credentials; use --header for credentials`,
    )
  return createDirectTarget('remote', url.origin, createRemoteEntry(url.href), deriveHostName(url))
}

function createOpenApiTarget(text: string): AddTarget {
  const url = URL.parse(text)
  const suggested =
    url === null ? (text.split(/[/\\]/).at(-1) ?? text).replace(/\.(json|ya?ml)$/, '') : deriveHostName(url)
  return createDirectTarget('openapi', text, { type: 'openapi', document: text }, suggested)
}

function createDirectTarget(kind: string, title: string, upstream: JsonObject, suggested: string): AddTarget {
  return { by: 'option', option: { kind, title, inputs: NO_INPUTS, upstream: () => upstream }, suggested }
}

function deriveHostName({ hostname }: URL): string {
  const parts = hostname.split('.').filter(part => !/^(www|mcp|api|com|org|net|io|dev|ai|\d+|)$/.test(part))
  return parts[0] ?? hostname
}

export function createUsageError(message: string): Error {
  return gatewayError('GW_USAGE', { what: message })
}
