import type { JsonObject } from '../../../src/plugin.ts'
import type { Route } from './route.ts'

/** The API as an OpenAPI document, made of its table. */
export function openApi(routes: readonly Route[], gateway: { name: string; version: string }): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = (paths[`/${route.name}`] ??= {})
    path[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `The page of ${gateway.name}`,
      version: gateway.version,
      description:
        'What the page at `/ui/` shows and does. Programs send an API key or a token; browsers have a cookie, and send the header `x-tapgate-ui`.',
    },
    servers: [{ url: './' }],
    security: [{ bearer: [] }, { cookie: [], key: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: 'tapgate-ui' },
        key: { type: 'apiKey', in: 'header', name: 'x-tapgate-ui' },
      },
      responses: { Error: ERROR },
    },
  }
}

const ERROR = {
  description: 'Why there is no answer',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['message'],
            properties: {
              message: { type: 'string' },
              code: { type: 'string' },
              hint: { type: 'string' },
              detail: { type: 'string' },
            },
          },
        },
      },
    },
  },
}

function operationOf({ method, name, summary, acts, query, body, required, answer }: Route): JsonObject {
  return {
    operationId: `${method.toLowerCase()}-${name}`,
    summary: acts === true ? `${summary} Needs the scope for acting.` : summary,
    ...(query === undefined ? {} : { parameters: Object.entries(query).map(parameterOf) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  additionalProperties: false,
                  required: required ?? [],
                  properties: body,
                },
              },
            },
          },
        }),
    responses: {
      200: { description: answer, content: { [typeOf(name)]: { schema: {} } } },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function parameterOf([name, description]: [string, string]): JsonObject {
  return { name, in: 'query', description, schema: { type: 'string' } }
}

/** Streams are events. */
function typeOf(name: string): string {
  return name === 'events' || name === 'run' ? 'text/event-stream' : 'application/json'
}
