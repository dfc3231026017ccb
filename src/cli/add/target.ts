import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { nameOfCommand } from '../server-names.ts'
import { NAME } from './registry.ts'
import type { LaunchOption } from './packages.ts'
import { packageWay } from './packages.ts'

/** Meaning of the argument of `gateway add`. */
export type Target =
  | { readonly by: 'registry'; readonly name: string; readonly version: string | undefined }
  | { readonly by: 'way'; readonly way: LaunchOption; readonly suggested: string }

const NO_INPUTS: LaunchOption['inputs'] = []

/**
 * Reads what is to be added. A command alone is the server; behind a name or a package it is arguments for it. Forms: `npm:`, `pypi:`, `docker:`, `openapi:`, a URL, a name of the registry, or a command.
 * @throws GatewayError GW_USAGE
 */
export function parseTarget(text: string | undefined, command: readonly string[]): Target {
  if (text === undefined && command.length > 0) return commandTarget(command)
  if (text === undefined)
    throw usage('say what to add: a name of the registry, npm:package@version, a URL, or -- and a command')
  const [, kind = '', rest = ''] = /^(npm|pypi|docker|openapi):(.+)$/s.exec(text) ?? []
  if (kind === 'openapi') return openApiTarget(rest)
  if (kind !== '') return packageTarget(kind, rest)
  return /^https?:\/\//i.test(text) ? urlTarget(text) : namedTarget(text)
}

function namedTarget(text: string): Target {
  const [, name = '', version] = /^([^@]+)(?:@(.+))?$/s.exec(text) ?? []
  if (NAME.test(name)) return { by: 'registry', name, version }
  const forms = 'io.github.owner/server, npm:…, pypi:…, docker:…, openapi:…, https://…'
  const shown = text.slice(0, 100)
  if (/^@[\w.-]+\/[\w.-]+(@[\w.-]+)?$/.test(text)) throw usage(`"${shown}" – did you mean "npm:${shown}"?`)
  const search = /^[\w.-]+$/.test(text) ? `; gateway search ${shown} looks for a name` : ''
  throw usage(`"${shown}" is none of: ${forms}${search}`)
}

function commandTarget(command: readonly string[]): Target {
  const [program = '', ...args] = command
  const upstream = { type: 'stdio', command: program, ...(args.length === 0 ? {} : { args }) }
  return wayTarget('command', command.join(' '), upstream, nameOfCommand(command))
}

function packageTarget(kind: string, text: string): Target {
  const isImage = kind === 'docker'
  const [, identifier = text, version] = isImage ? [] : (/^(.+?)(?:@|==)([^@=]+)$/s.exec(text) ?? [])
  const way = packageWay({
    registryType: isImage ? 'oci' : kind,
    identifier,
    ...(version === undefined ? {} : { version }),
  })
  if ('why' in way) {
    const hint =
      version === undefined && !isImage
        ? `; write ${kind}:${identifier}@<version>, as a version that is pinned stays the same`
        : ''
    throw usage(`${way.why}${hint}`)
  }
  return { by: 'way', way, suggested: identifier }
}

function urlTarget(text: string): Target {
  const url = URL.parse(text)
  if (url === null || url.username !== '')
    throw usage(`"${text.slice(0, 100)}" is no URL without a user; credentials go into --header`)
  const type = /\/sse\/?$/.test(url.pathname) ? 'sse' : 'http'
  return wayTarget('remote', url.origin, { type, url: url.href }, hostName(url))
}

function openApiTarget(text: string): Target {
  const url = URL.parse(text)
  const suggested =
    url === null ? (text.split(/[/\\]/).at(-1) ?? text).replace(/\.(json|ya?ml)$/, '') : hostName(url)
  return wayTarget('openapi', text, { type: 'openapi', document: text }, suggested)
}

function wayTarget(kind: string, title: string, upstream: JsonObject, suggested: string): Target {
  return { by: 'way', way: { kind, title, inputs: NO_INPUTS, upstream: () => upstream }, suggested }
}

function hostName({ hostname }: URL): string {
  const parts = hostname.split('.').filter(part => !/^(www|mcp|api|com|org|net|io|dev|ai|\d+|)$/.test(part))
  return parts[0] ?? hostname
}

export function usage(what: string): Error {
  return gatewayError('GW_USAGE', { what })
}
