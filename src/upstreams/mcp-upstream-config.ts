import type { UpstreamConfig } from '../api/index.ts'

/** A server that speaks MCP, over whatever carries its messages. */
export type McpUpstreamConfig = Extract<UpstreamConfig, { readonly era: unknown }>
