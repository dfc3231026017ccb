import type { Plugin, Report } from '../../src/plugin.ts'
import { readMap, appendPointer, readText } from '../../src/plugin.ts'
import { ERRORS, isOpenApi } from './load-document.ts'

/** Upstreams of type `openapi`: HTTP APIs whose operations are tools. */
export const openApi: Plugin<undefined> = {
  name: 'openapi',
  claims: { upstream: ['document'], makesUpstreams: true },
  errors: ERRORS,
  check: checkOpenApi,
  reads: config =>
    listDocuments(config)
      .map(([, document]) => document)
      .filter(document => document !== '' && !/^https?:\/\//i.test(document)),
  async setup({ config, hooks, fetch, parseYaml, directory }) {
    if (!Object.values(config.upstreams).some(isOpenApi)) return
    const { OpenApiUpstream } = await import('./upstream.ts')
    const reading = { fetch, parseYaml, directory }
    hooks.createUpstream.for('openapi').tap((spec, context) => {
      return isOpenApi(spec) ? new OpenApiUpstream(spec, context, reading) : undefined
    })
  },
}

/** Lists the documents by upstream name; empty ones are reported by the schema. */
function listDocuments(config: unknown): [string, string][] {
  return Object.entries(readMap(config, 'upstreams'))
    .filter(([, spec]) => readText(spec, 'type') === 'openapi')
    .map(([name, spec]) => [name, readText(spec, 'document') ?? ''])
}

/** Reports document URLs with an unsupported scheme. */
function checkOpenApi(config: unknown, report: Report): void {
  for (const [name, document] of listDocuments(config)) {
    const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(document) ?? []
    if (scheme !== undefined && !/^https?:/i.test(scheme))
      report({
        pointer: `${appendPointer('/upstreams', name)}/document`,
        message: `unsupported scheme "${scheme}"`,
        hint: 'use a file path, or an http or https URL',
      })
  }
}
