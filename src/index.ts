/** Embedding API. */
export { createGateway, Gateway } from './gateway/gateway.ts'
export { RpcFailure } from './api/gateway.ts'
export type {
  CatalogRow,
  ClientConnection,
  ConnectOptions,
  GatewayOptions,
  Inspection,
  RequestOptions,
  UpstreamHandle,
  UpstreamStatus,
  WithheldRow,
} from './api/gateway.ts'
export { type LoadedConfig } from './config/index.ts'
export { loadConfig } from './gateway/load-config.ts'
export { GatewayError, type ErrorCode } from './errors/errors.ts'
export { createLog } from './util/log.ts'
export type { Config } from './config/config.gen.ts'
export type { Clock, Log, Notification, Payload, Plugin, PluginApi, UpstreamState } from './plugin.ts'
export type { InProcessTransport } from './listeners/in-process.ts'
