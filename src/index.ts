/** Embedding API. */
export { createGateway, Gateway } from './gateway.ts'
export { RpcFailure } from './gateway-api.ts'
export type {
  CatalogRow,
  Connection,
  ConnectOptions,
  GatewayOptions,
  Inspection,
  RequestOptions,
  UpstreamHandle,
  UpstreamStatus,
  WithheldRow,
} from './gateway-api.ts'
export { loadConfig, type LoadedConfig } from './config/index.ts'
export { GatewayError, type ErrorCode } from './errors.ts'
export { createLog } from './util/log.ts'
export type { Config } from './config/config.gen.ts'
export type { Clock, Log, Notification, Payload, Plugin, PluginApi, UpstreamState } from './plugin.ts'
export type { InProcessTransport } from './transport/in-process-transport.ts'
