import { link, rename, writeFile } from 'node:fs/promises'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toYaml } from '../../config/source/plain-yaml.ts'
import { GatewayError, gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { makeDirectory, writeFileAtomic } from '../../util/storage/files.ts'
import { isSecretName } from '../../util/secrets.ts'
import { formatSchemaLine, listVariables } from './import.ts'
import { extractSecrets, writeTokens } from './tokens.ts'
import type { DetectedServer } from './find-servers.ts'

/** Directory of the secret files, next to the configuration. */
const SECRETS_DIRECTORY = 'secrets'

/** Configuration before it is written. */
export interface ConfigDraft {
  readonly text: string
  readonly secrets: ReturnType<typeof extractSecrets>['tokens']
  /** Variables that are not set in this environment. */
  readonly variables: readonly string[]
}

interface DraftOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly launcher: string
  readonly target: string
}

/** Creates a configuration with each server's source as a comment, and secrets in separate files. */
export function createDraft(
  servers: readonly DetectedServer[],
  { environment, launcher, target }: DraftOptions,
): ConfigDraft {
  const formatPlaceholder = (file: string): string => `\${file:./${SECRETS_DIRECTORY}/${file}}`
  const upstreamsByName = Object.fromEntries(servers.map(({ name, upstream }) => [name, upstream]))
  const { tokens, upstreams } = extractSecrets(upstreamsByName, formatPlaceholder, isSecret)
  const variables = listVariables(JSON.stringify(upstreams)).filter(name => environment[name] === undefined)
  const blocks = servers.map(({ name, from }) =>
    formatServerBlock(name, upstreams[name] as JsonObject, from, variables),
  )
  return { text: [...createHeader(launcher, target), ...blocks].join('\n'), secrets: tokens, variables }
}

/** Variables that contain paths or sentences are not secrets, whatever their length. */
function isSecret([key, name = '']: readonly string[], text: string): boolean {
  return key !== 'env' || isSecretName(name) || !/[/\\\s]/.test(text)
}

function createHeader(launcher: string, target: string): string[] {
  return [
    formatSchemaLine(target, launcher),
    '# Created by "gateway init". After a change: gateway validate, then gateway reload.',
    'version: 1',
    '',
    '# Clients on this machine attach over a socket. For HTTP clients and browsers:',
    '# listeners:',
    '#   main: { type: http, port: 8080 }',
    '',
    'upstreams:',
  ]
}

/**
 * Formats an upstream below a comment with its source. Unset variables default to empty, so that other servers start.
 */
function formatServerBlock(
  name: string,
  upstream: JsonObject,
  from: readonly string[],
  unset: readonly string[],
): string {
  const text = toYaml({ [name]: upstream }).replace(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g, (placeholder, variable: string) =>
    unset.includes(variable) ? `\${${variable}:-}` : placeholder,
  )
  const needs = unset.filter(variable => text.includes(`\${${variable}:-}`))
  const lines = [
    `# From ${from.join(', ')}.`,
    ...(needs.length > 0 ? [`# Set ${needs.join(', ')} in the environment that starts the gateway.`] : []),
    ...text.trimEnd().split('\n'),
  ]
  return `${lines.map(line => (line === '' ? '' : `  ${line}`)).join('\n')}\n`
}

/**
 * Writes secrets and configuration, readable only by their owner. Of two concurrent writers one fails.
 * @throws GatewayError GW_FILE_EXISTS, GW_INIT; the files are then removed
 */
export async function writeDraft({ text, secrets }: ConfigDraft, target: string, force: boolean): Promise<void> {
  const directory = join(dirname(target), SECRETS_DIRECTORY)
  const hadSecrets = existsSync(directory)
  if (!force && existsSync(target)) throw gatewayError('GW_FILE_EXISTS', { file: target })
  try {
    if (secrets.length > 0) await writeSecrets(secrets, directory)
    await writeFileAtomic(target, Buffer.from(text), force ? rename : link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw gatewayError('GW_FILE_EXISTS', { file: target })
    if (!hadSecrets) rmSync(directory, { recursive: true, force: true })
    if (error instanceof GatewayError) throw error
    throw gatewayError('GW_INIT', { file: target, why: getErrorMessage(error) })
  }
}

async function writeSecrets(secrets: ConfigDraft['secrets'], directory: string): Promise<void> {
  await makeDirectory(directory, 0o700)
  await writeTokens(secrets, directory)
  // Keep secrets out of version control.
  await writeFile(join(directory, '.gitignore'), '*\n', { mode: 0o600 })
}
