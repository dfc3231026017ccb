// @ts-nocheck
// Generated from schemas/gateway.json by `npm run gen`. Do not edit.

export const validate = validate10;
export default validate10;
const schema11 = {"type":"object","additionalProperties":false,"properties":{"version":{"const":1,"type":"integer"},"extends":{"type":["string","array"],"minLength":1,"items":{"type":"string","minLength":1}},"server":{"$ref":"#/$defs/ServerConfig"},"log":{"$ref":"#/$defs/LogConfig"},"lists":{"$ref":"#/$defs/ListsConfig"},"shutdown":{"$ref":"#/$defs/ShutdownConfig"},"control":{"$ref":"#/$defs/ControlConfig"},"overload":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/OverloadConfig"},"else":{"const":false,"x-says":"a map or false"}},"hooks":{"$ref":"#/$defs/HooksConfig"},"processes":{"$ref":"#/$defs/ProcessesConfig"},"state":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/StateConfig"},"else":{"const":false,"x-says":"a map or false"}},"listeners":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/ListenerConfig"}},"upstreams":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/UpstreamConfig"}},"sessionHeaders":{"$ref":"#/$defs/SessionHeadersConfig"},"audit":{"$ref":"#/$defs/AuditConfig"},"metrics":{"$ref":"#/$defs/MetricsConfig"},"profiles":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/ProfileConfig"}},"rest":{"$ref":"#/$defs/RestConfig"},"cache":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/CacheConfig"},"else":{"const":false,"x-says":"a map or false"}},"routes":{"type":"array","items":{"$ref":"#/$defs/RouteConfig"}},"filters":{"$ref":"#/$defs/FiltersConfig"},"auth":{"$ref":"#/$defs/AuthConfig"},"rateLimit":{"$ref":"#/$defs/RateLimitConfig"},"agents":{"$ref":"#/$defs/AgentsConfig"},"plugins":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/PluginConfig"}}}};
const schema12 = {"type":"object","additionalProperties":false,"properties":{"name":{"type":"string","minLength":1},"version":{"type":"string","minLength":1},"title":{"type":"string"},"instructions":{"type":"string"}}};
const schema13 = {"type":"object","additionalProperties":false,"properties":{"level":{"enum":["debug","info","warn","error"],"type":"string"},"format":{"enum":["auto","pretty","json"],"type":"string"}}};
const schema20 = {"type":"object","additionalProperties":false,"properties":{"enabled":{"type":"boolean"},"socket":{"x-private":"file","type":"string","minLength":1}}};
const schema25 = {"type":"object","additionalProperties":false,"properties":{"max":{"type":"integer","minimum":1,"maximum":10000},"starting":{"type":"integer","minimum":1,"maximum":1000}}};
const schema26 = {"type":"object","additionalProperties":false,"required":["directory"],"properties":{"directory":{"description":"The directory, made with mode 0700 when there is something to keep; relative to the configuration file.","x-private":"directory","type":"string","minLength":1}}};
const schema27 = {"type":"string","pattern":"^[a-z][a-z0-9-]{0,31}$","x-says":"a name: a lower-case letter, then up to 31 lower-case letters, digits or hyphens"};
const schema154 = {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","pattern":"^/[^?#\\s]*$"},"listeners":{"type":"array","minItems":1,"items":{"type":"string"}},"tools":{"type":"integer","minimum":0,"maximum":10000},"buckets":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"number","exclusiveMinimum":0}}}};
const schema163 = {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","pattern":"^(/[^\\s?#/]+)*$","x-says":"empty, or a path that begins with a slash and does not end with one"},"listeners":{"type":"array","minItems":1,"items":{"type":"string"}}}};
const func2 = Object.prototype.hasOwnProperty;
const schema14 = {"type":"object","additionalProperties":false,"properties":{"pageSize":{"type":"integer","minimum":1,"maximum":100000},"grace":{"$ref":"#/$defs/duration"},"stragglers":{"$ref":"#/$defs/duration"},"wait":{"$ref":"#/$defs/duration"}}};
const schema15 = {"type":["string","integer"],"pattern":"^\\d{1,12}(ms|s|m|h|d)$","minimum":0,"x-says":"a duration such as 250ms, 30s, 5m or 1h, or a number of milliseconds"};
const pattern0 = new RegExp("^\\d{1,12}(ms|s|m|h|d)$", "u");

function validate11(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.pageSize === undefined){
data.pageSize = 1000;
}
if(data.grace === undefined){
data.grace = "10s";
}
if(data.stragglers === undefined){
data.stragglers = "1s";
}
if(data.wait === undefined){
data.wait = "1s";
}
for(const key0 in data){
if(!((((key0 === "pageSize") || (key0 === "grace")) || (key0 === "stragglers")) || (key0 === "wait"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema14,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.pageSize;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/pageSize",schemaPath:"#/properties/pageSize/type",keyword:"type",params:{type: "integer"},schema:schema14.properties.pageSize.type,parentSchema:schema14.properties.pageSize,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 100000 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/pageSize",schemaPath:"#/properties/pageSize/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema14.properties.pageSize,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0 < 1 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/pageSize",schemaPath:"#/properties/pageSize/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema14.properties.pageSize,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.grace;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err6 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.stragglers;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/stragglers",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/stragglers",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err9 = {instancePath:instancePath+"/stragglers",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
let data3 = data.wait;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err10 = {instancePath:instancePath+"/wait",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/wait",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err12 = {instancePath:instancePath+"/wait",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema14.type,parentSchema:schema14,data};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
validate11.errors = vErrors;
return errors === 0;
}

const schema18 = {"type":"object","additionalProperties":false,"properties":{"grace":{"$ref":"#/$defs/duration"}}};

function validate13(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.grace === undefined){
data.grace = "10s";
}
for(const key0 in data){
if(!(key0 === "grace")){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema18,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.grace;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err3 = {instancePath:instancePath+"/grace",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
else {
const err4 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema18.type,parentSchema:schema18,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
validate13.errors = vErrors;
return errors === 0;
}

const schema21 = {"type":"object","additionalProperties":false,"properties":{"keepAlive":{"type":"number","minimum":1,"maximum":100},"refuse":{"type":"number","minimum":1,"maximum":100},"lag":{"$ref":"#/$defs/duration"}}};

function validate15(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.keepAlive === undefined){
data.keepAlive = 92;
}
if(data.refuse === undefined){
data.refuse = 95;
}
if(data.lag === undefined){
data.lag = "1s";
}
for(const key0 in data){
if(!(((key0 === "keepAlive") || (key0 === "refuse")) || (key0 === "lag"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema21,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.keepAlive;
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 100 || isNaN(data0)){
const err1 = {instancePath:instancePath+"/keepAlive",schemaPath:"#/properties/keepAlive/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100},schema:100,parentSchema:schema21.properties.keepAlive,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data0 < 1 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/keepAlive",schemaPath:"#/properties/keepAlive/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema21.properties.keepAlive,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/keepAlive",schemaPath:"#/properties/keepAlive/type",keyword:"type",params:{type: "number"},schema:schema21.properties.keepAlive.type,parentSchema:schema21.properties.keepAlive,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
let data1 = data.refuse;
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 100 || isNaN(data1)){
const err4 = {instancePath:instancePath+"/refuse",schemaPath:"#/properties/refuse/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100},schema:100,parentSchema:schema21.properties.refuse,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(data1 < 1 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/refuse",schemaPath:"#/properties/refuse/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema21.properties.refuse,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/refuse",schemaPath:"#/properties/refuse/type",keyword:"type",params:{type: "number"},schema:schema21.properties.refuse.type,parentSchema:schema21.properties.refuse,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
let data2 = data.lag;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/lag",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/lag",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err9 = {instancePath:instancePath+"/lag",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema21.type,parentSchema:schema21,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate15.errors = vErrors;
return errors === 0;
}

const schema23 = {"type":"object","additionalProperties":false,"properties":{"timeout":{"$ref":"#/$defs/duration"}}};

function validate17(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.timeout === undefined){
data.timeout = "5s";
}
for(const key0 in data){
if(!(key0 === "timeout")){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema23,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.timeout;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err3 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
else {
const err4 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema23.type,parentSchema:schema23,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
validate17.errors = vErrors;
return errors === 0;
}

const schema28 = {"type":"object","discriminator":{"propertyName":"type"},"required":["type"],"oneOf":[{"$ref":"#/$defs/HttpListenerConfig"},{"$ref":"#/$defs/StdioListenerConfig"}]};
const schema29 = {"type":"object","additionalProperties":false,"required":["type"],"properties":{"type":{"description":"An HTTP endpoint.","const":"http","type":"string"},"host":{"type":"string","minLength":1},"port":{"type":"integer","minimum":0,"maximum":65535},"path":{"type":"string","pattern":"^/[^\\s?#]*$","x-says":"a path that begins with a slash"},"profile":{"$ref":"#/$defs/profileName"},"eras":{"enum":["auto","both","legacy"],"type":"string"},"sessionLabel":{"type":["string","boolean"],"if":{"type":"string"},"then":{"$ref":"#/$defs/headerName"},"else":{"const":false,"x-says":"a header name or false"}},"allowedHosts":{"type":"array","items":{"type":"string","minLength":1}},"allowedOrigins":{"type":"array","items":{"type":"string","minLength":1}},"exposeWithoutAuth":{"type":"boolean"},"sse":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/SseEndpointConfig"},"else":{"const":false,"x-says":"a map or false"}},"ws":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/WsEndpointConfig"},"else":{"const":false,"x-says":"a map or false"}},"limits":{"$ref":"#/$defs/HttpLimitsConfig"}}};
const schema30 = {"type":"string","minLength":1};
const schema31 = {"type":"string","pattern":"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$","x-says":"an HTTP header name"};
const schema32 = {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","pattern":"^/[^\\s?#]*$","x-says":"a path that begins with a slash"},"messages":{"type":"string","pattern":"^/[^\\s?#]*$","x-says":"a path that begins with a slash"}}};
const schema33 = {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","pattern":"^/[^\\s?#]*$","x-says":"a path that begins with a slash"}}};
const pattern7 = new RegExp("^/[^\\s?#]*$", "u");
const pattern8 = new RegExp("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", "u");
const schema34 = {"type":"object","additionalProperties":false,"properties":{"body":{"$ref":"#/$defs/size"},"sessions":{"type":"integer","minimum":1},"sessionsPerPrincipal":{"type":"integer","minimum":1},"idle":{"$ref":"#/$defs/duration"},"connections":{"type":"integer","minimum":1},"unread":{"$ref":"#/$defs/duration"},"held":{"$ref":"#/$defs/size"},"heldPerClient":{"$ref":"#/$defs/size"}}};
const schema35 = {"type":["string","integer"],"pattern":"^\\d{1,12}(B|KiB|MiB|GiB)$","minimum":0,"x-says":"a size such as 64KiB or 4MiB, or a number of bytes"};
const pattern12 = new RegExp("^\\d{1,12}(B|KiB|MiB|GiB)$", "u");

function validate21(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.body === undefined){
data.body = "4MiB";
}
if(data.sessions === undefined){
data.sessions = 10000;
}
if(data.sessionsPerPrincipal === undefined){
data.sessionsPerPrincipal = 100;
}
if(data.idle === undefined){
data.idle = "30m";
}
if(data.connections === undefined){
data.connections = 1024;
}
if(data.unread === undefined){
data.unread = "30s";
}
if(data.held === undefined){
data.held = "128MiB";
}
if(data.heldPerClient === undefined){
data.heldPerClient = "64MiB";
}
for(const key0 in data){
if(!((((((((key0 === "body") || (key0 === "sessions")) || (key0 === "sessionsPerPrincipal")) || (key0 === "idle")) || (key0 === "connections")) || (key0 === "unread")) || (key0 === "held")) || (key0 === "heldPerClient"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema34,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.body;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/body",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/body",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern12.test(data0)){
const err3 = {instancePath:instancePath+"/body",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.sessions;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err4 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/type",keyword:"type",params:{type: "integer"},schema:schema34.properties.sessions.type,parentSchema:schema34.properties.sessions,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 1 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema34.properties.sessions,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
let data2 = data.sessionsPerPrincipal;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err6 = {instancePath:instancePath+"/sessionsPerPrincipal",schemaPath:"#/properties/sessionsPerPrincipal/type",keyword:"type",params:{type: "integer"},schema:schema34.properties.sessionsPerPrincipal.type,parentSchema:schema34.properties.sessionsPerPrincipal,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 1 || isNaN(data2)){
const err7 = {instancePath:instancePath+"/sessionsPerPrincipal",schemaPath:"#/properties/sessionsPerPrincipal/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema34.properties.sessionsPerPrincipal,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
let data3 = data.idle;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err8 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err9 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err10 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
let data4 = data.connections;
if(!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4)))){
const err11 = {instancePath:instancePath+"/connections",schemaPath:"#/properties/connections/type",keyword:"type",params:{type: "integer"},schema:schema34.properties.connections.type,parentSchema:schema34.properties.connections,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 1 || isNaN(data4)){
const err12 = {instancePath:instancePath+"/connections",schemaPath:"#/properties/connections/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema34.properties.connections,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let data5 = data.unread;
if((typeof data5 !== "string") && (!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5))))){
const err13 = {instancePath:instancePath+"/unread",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data5 == "number") && (isFinite(data5))){
if(data5 < 0 || isNaN(data5)){
const err14 = {instancePath:instancePath+"/unread",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data5 === "string"){
if(!pattern0.test(data5)){
const err15 = {instancePath:instancePath+"/unread",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
let data6 = data.held;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err16 = {instancePath:instancePath+"/held",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err17 = {instancePath:instancePath+"/held",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern12.test(data6)){
const err18 = {instancePath:instancePath+"/held",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
let data7 = data.heldPerClient;
if((typeof data7 !== "string") && (!(((typeof data7 == "number") && (!(data7 % 1) && !isNaN(data7))) && (isFinite(data7))))){
const err19 = {instancePath:instancePath+"/heldPerClient",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if((typeof data7 == "number") && (isFinite(data7))){
if(data7 < 0 || isNaN(data7)){
const err20 = {instancePath:instancePath+"/heldPerClient",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(typeof data7 === "string"){
if(!pattern12.test(data7)){
const err21 = {instancePath:instancePath+"/heldPerClient",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
else {
const err22 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema34.type,parentSchema:schema34,data};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
validate21.errors = vErrors;
return errors === 0;
}


function validate20(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.host === undefined){
data.host = "127.0.0.1";
}
if(data.port === undefined){
data.port = 8080;
}
if(data.path === undefined){
data.path = "/mcp";
}
if(data.eras === undefined){
data.eras = "auto";
}
if(data.sessionLabel === undefined){
data.sessionLabel = "X-Session-ID";
}
if(data.allowedHosts === undefined){
data.allowedHosts = [];
}
if(data.allowedOrigins === undefined){
data.allowedOrigins = [];
}
if(data.exposeWithoutAuth === undefined){
data.exposeWithoutAuth = false;
}
if(data.sse === undefined){
data.sse = false;
}
if(data.ws === undefined){
data.ws = false;
}
if(data.limits === undefined){
data.limits = {};
}
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema29.required,parentSchema:schema29,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema29.properties, key0))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema29,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err2 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema29.properties.type.type,parentSchema:schema29.properties.type,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if("http" !== data0){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "http"},schema:"http",parentSchema:schema29.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.host;
if(typeof data1 === "string"){
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/host",schemaPath:"#/properties/host/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema29.properties.host,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/host",schemaPath:"#/properties/host/type",keyword:"type",params:{type: "string"},schema:schema29.properties.host.type,parentSchema:schema29.properties.host,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
let data2 = data.port;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err6 = {instancePath:instancePath+"/port",schemaPath:"#/properties/port/type",keyword:"type",params:{type: "integer"},schema:schema29.properties.port.type,parentSchema:schema29.properties.port,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 65535 || isNaN(data2)){
const err7 = {instancePath:instancePath+"/port",schemaPath:"#/properties/port/maximum",keyword:"maximum",params:{comparison: "<=", limit: 65535},schema:65535,parentSchema:schema29.properties.port,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/port",schemaPath:"#/properties/port/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema29.properties.port,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
let data3 = data.path;
if(typeof data3 === "string"){
if(!pattern7.test(data3)){
const err9 = {instancePath:instancePath+"/path",schemaPath:"#/properties/path/pattern",keyword:"pattern",params:{pattern: "^/[^\\s?#]*$"},schema:"^/[^\\s?#]*$",parentSchema:schema29.properties.path,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/path",schemaPath:"#/properties/path/type",keyword:"type",params:{type: "string"},schema:schema29.properties.path.type,parentSchema:schema29.properties.path,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data.profile !== undefined){
let data4 = data.profile;
if(typeof data4 === "string"){
if(data4.length < 1){
const err11 = {instancePath:instancePath+"/profile",schemaPath:"#/$defs/profileName/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema30,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/profile",schemaPath:"#/$defs/profileName/type",keyword:"type",params:{type: "string"},schema:schema30.type,parentSchema:schema30,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let data5 = data.eras;
if(typeof data5 !== "string"){
const err13 = {instancePath:instancePath+"/eras",schemaPath:"#/properties/eras/type",keyword:"type",params:{type: "string"},schema:schema29.properties.eras.type,parentSchema:schema29.properties.eras,data:data5};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if(!(((data5 === "auto") || (data5 === "both")) || (data5 === "legacy"))){
const err14 = {instancePath:instancePath+"/eras",schemaPath:"#/properties/eras/enum",keyword:"enum",params:{allowedValues: schema29.properties.eras.enum},schema:schema29.properties.eras.enum,parentSchema:schema29.properties.eras,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
let data6 = data.sessionLabel;
if((typeof data6 !== "string") && (typeof data6 !== "boolean")){
const err15 = {instancePath:instancePath+"/sessionLabel",schemaPath:"#/properties/sessionLabel/type",keyword:"type",params:{type: schema29.properties.sessionLabel.type},schema:schema29.properties.sessionLabel.type,parentSchema:schema29.properties.sessionLabel,data:data6};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
const _errs17 = errors;
let valid2 = true;
const _errs18 = errors;
if(typeof data6 !== "string"){
const err16 = {};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
var _valid0 = _errs18 === errors;
errors = _errs17;
if(vErrors !== null){
if(_errs17){
vErrors.length = _errs17;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs20 = errors;
if(typeof data6 === "string"){
if(!pattern8.test(data6)){
const err17 = {instancePath:instancePath+"/sessionLabel",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/sessionLabel",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
var _valid0 = _errs20 === errors;
valid2 = _valid0;
ifClause0 = "then";
}
else {
const _errs23 = errors;
if(false !== data6){
const err19 = {instancePath:instancePath+"/sessionLabel",schemaPath:"#/properties/sessionLabel/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema29.properties.sessionLabel.else,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
var _valid0 = _errs23 === errors;
valid2 = _valid0;
ifClause0 = "else";
}
if(!valid2){
const err20 = {instancePath:instancePath+"/sessionLabel",schemaPath:"#/properties/sessionLabel/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema29.properties.sessionLabel.if,parentSchema:schema29.properties.sessionLabel,data:data6};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
let data7 = data.allowedHosts;
if(Array.isArray(data7)){
const len0 = data7.length;
for(let i0=0; i0<len0; i0++){
let data8 = data7[i0];
if(typeof data8 === "string"){
if(data8.length < 1){
const err21 = {instancePath:instancePath+"/allowedHosts/" + i0,schemaPath:"#/properties/allowedHosts/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema29.properties.allowedHosts.items,data:data8};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
else {
const err22 = {instancePath:instancePath+"/allowedHosts/" + i0,schemaPath:"#/properties/allowedHosts/items/type",keyword:"type",params:{type: "string"},schema:schema29.properties.allowedHosts.items.type,parentSchema:schema29.properties.allowedHosts.items,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
}
else {
const err23 = {instancePath:instancePath+"/allowedHosts",schemaPath:"#/properties/allowedHosts/type",keyword:"type",params:{type: "array"},schema:schema29.properties.allowedHosts.type,parentSchema:schema29.properties.allowedHosts,data:data7};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
let data9 = data.allowedOrigins;
if(Array.isArray(data9)){
const len1 = data9.length;
for(let i1=0; i1<len1; i1++){
let data10 = data9[i1];
if(typeof data10 === "string"){
if(data10.length < 1){
const err24 = {instancePath:instancePath+"/allowedOrigins/" + i1,schemaPath:"#/properties/allowedOrigins/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema29.properties.allowedOrigins.items,data:data10};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
else {
const err25 = {instancePath:instancePath+"/allowedOrigins/" + i1,schemaPath:"#/properties/allowedOrigins/items/type",keyword:"type",params:{type: "string"},schema:schema29.properties.allowedOrigins.items.type,parentSchema:schema29.properties.allowedOrigins.items,data:data10};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
}
else {
const err26 = {instancePath:instancePath+"/allowedOrigins",schemaPath:"#/properties/allowedOrigins/type",keyword:"type",params:{type: "array"},schema:schema29.properties.allowedOrigins.type,parentSchema:schema29.properties.allowedOrigins,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
let data11 = data.exposeWithoutAuth;
if(typeof data11 !== "boolean"){
const err27 = {instancePath:instancePath+"/exposeWithoutAuth",schemaPath:"#/properties/exposeWithoutAuth/type",keyword:"type",params:{type: "boolean"},schema:schema29.properties.exposeWithoutAuth.type,parentSchema:schema29.properties.exposeWithoutAuth,data:data11};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
let data12 = data.sse;
if((!(data12 && typeof data12 == "object" && !Array.isArray(data12))) && (typeof data12 !== "boolean")){
const err28 = {instancePath:instancePath+"/sse",schemaPath:"#/properties/sse/type",keyword:"type",params:{type: schema29.properties.sse.type},schema:schema29.properties.sse.type,parentSchema:schema29.properties.sse,data:data12};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
const _errs36 = errors;
let valid8 = true;
const _errs37 = errors;
if(!(data12 && typeof data12 == "object" && !Array.isArray(data12))){
const err29 = {};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
var _valid1 = _errs37 === errors;
errors = _errs36;
if(vErrors !== null){
if(_errs36){
vErrors.length = _errs36;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid1){
const _errs39 = errors;
if(data12 && typeof data12 == "object" && !Array.isArray(data12)){
if(data12.path === undefined){
data12.path = "/sse";
}
if(data12.messages === undefined){
data12.messages = "/messages";
}
for(const key1 in data12){
if(!((key1 === "path") || (key1 === "messages"))){
const err30 = {instancePath:instancePath+"/sse",schemaPath:"#/$defs/SseEndpointConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},schema:false,parentSchema:schema32,data:data12};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
let data13 = data12.path;
if(typeof data13 === "string"){
if(!pattern7.test(data13)){
const err31 = {instancePath:instancePath+"/sse/path",schemaPath:"#/$defs/SseEndpointConfig/properties/path/pattern",keyword:"pattern",params:{pattern: "^/[^\\s?#]*$"},schema:"^/[^\\s?#]*$",parentSchema:schema32.properties.path,data:data13};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
else {
const err32 = {instancePath:instancePath+"/sse/path",schemaPath:"#/$defs/SseEndpointConfig/properties/path/type",keyword:"type",params:{type: "string"},schema:schema32.properties.path.type,parentSchema:schema32.properties.path,data:data13};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
let data14 = data12.messages;
if(typeof data14 === "string"){
if(!pattern7.test(data14)){
const err33 = {instancePath:instancePath+"/sse/messages",schemaPath:"#/$defs/SseEndpointConfig/properties/messages/pattern",keyword:"pattern",params:{pattern: "^/[^\\s?#]*$"},schema:"^/[^\\s?#]*$",parentSchema:schema32.properties.messages,data:data14};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
else {
const err34 = {instancePath:instancePath+"/sse/messages",schemaPath:"#/$defs/SseEndpointConfig/properties/messages/type",keyword:"type",params:{type: "string"},schema:schema32.properties.messages.type,parentSchema:schema32.properties.messages,data:data14};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
else {
const err35 = {instancePath:instancePath+"/sse",schemaPath:"#/$defs/SseEndpointConfig/type",keyword:"type",params:{type: "object"},schema:schema32.type,parentSchema:schema32,data:data12};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
var _valid1 = _errs39 === errors;
valid8 = _valid1;
ifClause1 = "then";
}
else {
const _errs47 = errors;
if(false !== data12){
const err36 = {instancePath:instancePath+"/sse",schemaPath:"#/properties/sse/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema29.properties.sse.else,data:data12};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid1 = _errs47 === errors;
valid8 = _valid1;
ifClause1 = "else";
}
if(!valid8){
const err37 = {instancePath:instancePath+"/sse",schemaPath:"#/properties/sse/if",keyword:"if",params:{failingKeyword: ifClause1},schema:schema29.properties.sse.if,parentSchema:schema29.properties.sse,data:data12};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
let data15 = data.ws;
if((!(data15 && typeof data15 == "object" && !Array.isArray(data15))) && (typeof data15 !== "boolean")){
const err38 = {instancePath:instancePath+"/ws",schemaPath:"#/properties/ws/type",keyword:"type",params:{type: schema29.properties.ws.type},schema:schema29.properties.ws.type,parentSchema:schema29.properties.ws,data:data15};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
const _errs50 = errors;
let valid11 = true;
const _errs51 = errors;
if(!(data15 && typeof data15 == "object" && !Array.isArray(data15))){
const err39 = {};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
var _valid2 = _errs51 === errors;
errors = _errs50;
if(vErrors !== null){
if(_errs50){
vErrors.length = _errs50;
}
else {
vErrors = null;
}
}
let ifClause2;
if(_valid2){
const _errs53 = errors;
if(data15 && typeof data15 == "object" && !Array.isArray(data15)){
if(data15.path === undefined){
data15.path = "/ws";
}
for(const key2 in data15){
if(!(key2 === "path")){
const err40 = {instancePath:instancePath+"/ws",schemaPath:"#/$defs/WsEndpointConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},schema:false,parentSchema:schema33,data:data15};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
let data16 = data15.path;
if(typeof data16 === "string"){
if(!pattern7.test(data16)){
const err41 = {instancePath:instancePath+"/ws/path",schemaPath:"#/$defs/WsEndpointConfig/properties/path/pattern",keyword:"pattern",params:{pattern: "^/[^\\s?#]*$"},schema:"^/[^\\s?#]*$",parentSchema:schema33.properties.path,data:data16};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
else {
const err42 = {instancePath:instancePath+"/ws/path",schemaPath:"#/$defs/WsEndpointConfig/properties/path/type",keyword:"type",params:{type: "string"},schema:schema33.properties.path.type,parentSchema:schema33.properties.path,data:data16};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
else {
const err43 = {instancePath:instancePath+"/ws",schemaPath:"#/$defs/WsEndpointConfig/type",keyword:"type",params:{type: "object"},schema:schema33.type,parentSchema:schema33,data:data15};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
var _valid2 = _errs53 === errors;
valid11 = _valid2;
ifClause2 = "then";
}
else {
const _errs59 = errors;
if(false !== data15){
const err44 = {instancePath:instancePath+"/ws",schemaPath:"#/properties/ws/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema29.properties.ws.else,data:data15};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
var _valid2 = _errs59 === errors;
valid11 = _valid2;
ifClause2 = "else";
}
if(!valid11){
const err45 = {instancePath:instancePath+"/ws",schemaPath:"#/properties/ws/if",keyword:"if",params:{failingKeyword: ifClause2},schema:schema29.properties.ws.if,parentSchema:schema29.properties.ws,data:data15};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if(!(validate21(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate21.errors : vErrors.concat(validate21.errors);
errors = vErrors.length;
}
}
else {
const err46 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema29.type,parentSchema:schema29,data};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
validate20.errors = vErrors;
return errors === 0;
}

const schema40 = {"type":"object","additionalProperties":false,"required":["type"],"properties":{"type":{"description":"The gateway's stdin and stdout.","const":"stdio","type":"string"},"profile":{"$ref":"#/$defs/profileName"}}};

function validate23(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema40.required,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((key0 === "type") || (key0 === "profile"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err2 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema40.properties.type.type,parentSchema:schema40.properties.type,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if("stdio" !== data0){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "stdio"},schema:"stdio",parentSchema:schema40.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.profile !== undefined){
let data1 = data.profile;
if(typeof data1 === "string"){
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/profile",schemaPath:"#/$defs/profileName/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema30,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/profile",schemaPath:"#/$defs/profileName/type",keyword:"type",params:{type: "string"},schema:schema30.type,parentSchema:schema30,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema40.type,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
validate23.errors = vErrors;
return errors === 0;
}


function validate19(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema28.required,parentSchema:schema28,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "http"){
if(!(validate20(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate20.errors : vErrors.concat(validate20.errors);
errors = vErrors.length;
}
}
else if(tag0 === "stdio"){
if(!(validate23(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate23.errors : vErrors.concat(validate23.errors);
errors = vErrors.length;
}
}
else {
const err1 = {instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},schema:schema28.discriminator,parentSchema:schema28,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},schema:schema28.discriminator,parentSchema:schema28,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema28.type,parentSchema:schema28,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate19.errors = vErrors;
return errors === 0;
}

const schema43 = {"type":"object","discriminator":{"propertyName":"type"},"required":["type"],"oneOf":[{"$ref":"#/$defs/StdioUpstreamConfig"},{"$ref":"#/$defs/HttpUpstreamConfig"},{"$ref":"#/$defs/SseUpstreamConfig"},{"$ref":"#/$defs/WsUpstreamConfig"}]};
const schema44 = {"type":"object","additionalProperties":false,"required":["type","command"],"properties":{"type":{"description":"A process on this machine.","const":"stdio","type":"string"},"command":{"description":"The program to run, without its arguments. No shell is involved.","type":"string","minLength":1},"args":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":"string","x-secret":true}},"inheritEnv":{"type":"array","items":{"type":"string","minLength":1}},"cwd":{"type":"string","minLength":1},"projects":{"type":"array","minItems":1,"items":{"type":"string","minLength":1}},"ceilings":{"$ref":"#/$defs/CeilingsConfig"},"sandbox":{"type":["object","string"],"if":{"type":"object"},"then":{"$ref":"#/$defs/SandboxConfig"},"else":{"const":"bwrap","x-says":"a map or bwrap"}},"maxLine":{"$ref":"#/$defs/size"},"prefix":{"$ref":"#/$defs/prefix"},"enabled":{"$ref":"#/$defs/enabled"},"startupTimeout":{"$ref":"#/$defs/startupTimeout"},"timeout":{"$ref":"#/$defs/timeout"},"limits":{"$ref":"#/$defs/UpstreamLimitsConfig"},"breaker":{"$ref":"#/$defs/breaker"},"retry":{"$ref":"#/$defs/retry"},"onFailure":{"$ref":"#/$defs/onFailure"},"era":{"$ref":"#/$defs/era"},"isolation":{"$ref":"#/$defs/isolation"},"cache":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/UpstreamCacheConfig"},"else":{"const":false,"x-says":"a map or false"}},"start":{"$ref":"#/$defs/start"},"idle":{"$ref":"#/$defs/idle"},"maxLifetime":{"$ref":"#/$defs/maxLifetime"},"pool":{"$ref":"#/$defs/PoolConfig"},"replicas":{"type":"integer","minimum":1,"maximum":64},"tools":{"$ref":"#/$defs/ToolFilterConfig"},"prompts":{"$ref":"#/$defs/FilterConfig"},"resources":{"$ref":"#/$defs/ResourceFilterConfig"}}};
const schema49 = {"type":"object","additionalProperties":false,"required":["type"],"properties":{"type":{"description":"What makes the sandbox: bubblewrap.","const":"bwrap","type":"string"},"read":{"type":"array","items":{"type":"string","minLength":1}},"write":{"type":"array","items":{"type":"string","minLength":1}},"network":{"type":"boolean"},"hide":{"type":"array","items":{"type":"string","minLength":1}}}};
const schema51 = {"type":"string","pattern":"^[A-Za-z0-9_.-]{0,64}$","x-says":"a prefix of letters, digits, underscores, dots and hyphens"};
const schema52 = {"type":"boolean"};
const schema66 = {"enum":["omit","keep","fail"],"type":"string"};
const schema67 = {"enum":["auto","legacy","modern"],"type":"string"};
const schema68 = {"enum":["shared","session","principal"],"type":"string"};
const schema86 = {"enum":["auto","lazy","eager"],"type":"string"};
const schema89 = {"type":"object","additionalProperties":false,"properties":{"min":{"type":"integer","minimum":0,"maximum":64},"max":{"type":"integer","minimum":1,"maximum":1024},"perPrincipal":{"type":"integer","minimum":1,"maximum":1024}}};
const schema45 = {"type":"object","additionalProperties":false,"properties":{"memory":{"$ref":"#/$defs/size"},"pids":{"type":"integer","minimum":1,"maximum":4194304},"files":{"type":"integer","minimum":16,"maximum":1048576},"fileSize":{"$ref":"#/$defs/size"},"cpuTime":{"$ref":"#/$defs/duration"}}};

function validate29(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((((key0 === "memory") || (key0 === "pids")) || (key0 === "files")) || (key0 === "fileSize")) || (key0 === "cpuTime"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema45,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.memory !== undefined){
let data0 = data.memory;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/memory",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/memory",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern12.test(data0)){
const err3 = {instancePath:instancePath+"/memory",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.pids !== undefined){
let data1 = data.pids;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err4 = {instancePath:instancePath+"/pids",schemaPath:"#/properties/pids/type",keyword:"type",params:{type: "integer"},schema:schema45.properties.pids.type,parentSchema:schema45.properties.pids,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 4194304 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/pids",schemaPath:"#/properties/pids/maximum",keyword:"maximum",params:{comparison: "<=", limit: 4194304},schema:4194304,parentSchema:schema45.properties.pids,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data1 < 1 || isNaN(data1)){
const err6 = {instancePath:instancePath+"/pids",schemaPath:"#/properties/pids/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema45.properties.pids,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.files !== undefined){
let data2 = data.files;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err7 = {instancePath:instancePath+"/files",schemaPath:"#/properties/files/type",keyword:"type",params:{type: "integer"},schema:schema45.properties.files.type,parentSchema:schema45.properties.files,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 1048576 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/files",schemaPath:"#/properties/files/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1048576},schema:1048576,parentSchema:schema45.properties.files,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data2 < 16 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/files",schemaPath:"#/properties/files/minimum",keyword:"minimum",params:{comparison: ">=", limit: 16},schema:16,parentSchema:schema45.properties.files,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.fileSize !== undefined){
let data3 = data.fileSize;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err10 = {instancePath:instancePath+"/fileSize",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/fileSize",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern12.test(data3)){
const err12 = {instancePath:instancePath+"/fileSize",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.cpuTime !== undefined){
let data4 = data.cpuTime;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/cpuTime",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/cpuTime",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern0.test(data4)){
const err15 = {instancePath:instancePath+"/cpuTime",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
}
else {
const err16 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema45.type,parentSchema:schema45,data};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
validate29.errors = vErrors;
return errors === 0;
}

const schema55 = {"type":"object","additionalProperties":false,"properties":{"concurrency":{"type":"integer","minimum":0,"maximum":10000},"queue":{"type":"integer","minimum":0,"maximum":100000},"queueTimeout":{"$ref":"#/$defs/duration"}}};

function validate31(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.concurrency === undefined){
data.concurrency = 200;
}
if(data.queue === undefined){
data.queue = 1024;
}
if(data.queueTimeout === undefined){
data.queueTimeout = 0;
}
for(const key0 in data){
if(!(((key0 === "concurrency") || (key0 === "queue")) || (key0 === "queueTimeout"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema55,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.concurrency;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/concurrency",schemaPath:"#/properties/concurrency/type",keyword:"type",params:{type: "integer"},schema:schema55.properties.concurrency.type,parentSchema:schema55.properties.concurrency,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 10000 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/concurrency",schemaPath:"#/properties/concurrency/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000},schema:10000,parentSchema:schema55.properties.concurrency,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0 < 0 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/concurrency",schemaPath:"#/properties/concurrency/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema55.properties.concurrency,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.queue;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err4 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/type",keyword:"type",params:{type: "integer"},schema:schema55.properties.queue.type,parentSchema:schema55.properties.queue,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 100000 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema55.properties.queue,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data1 < 0 || isNaN(data1)){
const err6 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema55.properties.queue,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.queueTimeout;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err9 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema55.type,parentSchema:schema55,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate31.errors = vErrors;
return errors === 0;
}

const schema57 = {"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/BreakerConfig"},"else":{"const":false,"x-says":"a map or false"}};
const schema58 = {"type":"object","additionalProperties":false,"properties":{"failures":{"type":"integer","minimum":1},"latency":{"$ref":"#/$defs/duration"},"share":{"type":"number","exclusiveMinimum":0,"maximum":1},"window":{"$ref":"#/$defs/duration"},"calls":{"type":"integer","minimum":1},"open":{"$ref":"#/$defs/duration"}}};

function validate34(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.failures === undefined){
data.failures = 5;
}
if(data.latency === undefined){
data.latency = 0;
}
if(data.share === undefined){
data.share = 0.5;
}
if(data.window === undefined){
data.window = "30s";
}
if(data.calls === undefined){
data.calls = 10;
}
if(data.open === undefined){
data.open = "30s";
}
for(const key0 in data){
if(!((((((key0 === "failures") || (key0 === "latency")) || (key0 === "share")) || (key0 === "window")) || (key0 === "calls")) || (key0 === "open"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema58,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.failures;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/failures",schemaPath:"#/properties/failures/type",keyword:"type",params:{type: "integer"},schema:schema58.properties.failures.type,parentSchema:schema58.properties.failures,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 1 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/failures",schemaPath:"#/properties/failures/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema58.properties.failures,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
let data1 = data.latency;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err3 = {instancePath:instancePath+"/latency",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err4 = {instancePath:instancePath+"/latency",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err5 = {instancePath:instancePath+"/latency",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
let data2 = data.share;
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 1 || isNaN(data2)){
const err6 = {instancePath:instancePath+"/share",schemaPath:"#/properties/share/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1},schema:1,parentSchema:schema58.properties.share,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data2 <= 0 || isNaN(data2)){
const err7 = {instancePath:instancePath+"/share",schemaPath:"#/properties/share/exclusiveMinimum",keyword:"exclusiveMinimum",params:{comparison: ">", limit: 0},schema:0,parentSchema:schema58.properties.share,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/share",schemaPath:"#/properties/share/type",keyword:"type",params:{type: "number"},schema:schema58.properties.share.type,parentSchema:schema58.properties.share,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
let data3 = data.window;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err9 = {instancePath:instancePath+"/window",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err10 = {instancePath:instancePath+"/window",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err11 = {instancePath:instancePath+"/window",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
let data4 = data.calls;
if(!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4)))){
const err12 = {instancePath:instancePath+"/calls",schemaPath:"#/properties/calls/type",keyword:"type",params:{type: "integer"},schema:schema58.properties.calls.type,parentSchema:schema58.properties.calls,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 1 || isNaN(data4)){
const err13 = {instancePath:instancePath+"/calls",schemaPath:"#/properties/calls/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema58.properties.calls,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
let data5 = data.open;
if((typeof data5 !== "string") && (!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5))))){
const err14 = {instancePath:instancePath+"/open",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
if((typeof data5 == "number") && (isFinite(data5))){
if(data5 < 0 || isNaN(data5)){
const err15 = {instancePath:instancePath+"/open",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(typeof data5 === "string"){
if(!pattern0.test(data5)){
const err16 = {instancePath:instancePath+"/open",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema58.type,parentSchema:schema58,data};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
validate34.errors = vErrors;
return errors === 0;
}


function validate33(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if((!(data && typeof data == "object" && !Array.isArray(data))) && (typeof data !== "boolean")){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema57.type},schema:schema57.type,parentSchema:schema57,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const _errs1 = errors;
let valid0 = true;
const _errs2 = errors;
if(!(data && typeof data == "object" && !Array.isArray(data))){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs2 === errors;
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs4 = errors;
if(!(validate34(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate34.errors : vErrors.concat(validate34.errors);
errors = vErrors.length;
}
var _valid0 = _errs4 === errors;
valid0 = _valid0;
ifClause0 = "then";
}
else {
const _errs5 = errors;
if(false !== data){
const err2 = {instancePath,schemaPath:"#/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema57.else,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var _valid0 = _errs5 === errors;
valid0 = _valid0;
ifClause0 = "else";
}
if(!valid0){
const err3 = {instancePath,schemaPath:"#/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema57.if,parentSchema:schema57,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate33.errors = vErrors;
return errors === 0;
}

const schema62 = {"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/RetryConfig"},"else":{"const":false,"x-says":"a map or false"}};
const schema63 = {"type":"object","additionalProperties":false,"properties":{"attempts":{"type":"integer","minimum":1,"maximum":10},"backoff":{"$ref":"#/$defs/duration"},"tools":{"$ref":"#/$defs/globList"}}};
const schema65 = {"x-globs":true,"type":"array","items":{"type":"string","minLength":1}};

function validate38(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.attempts === undefined){
data.attempts = 2;
}
if(data.backoff === undefined){
data.backoff = "100ms";
}
if(data.tools === undefined){
data.tools = [];
}
for(const key0 in data){
if(!(((key0 === "attempts") || (key0 === "backoff")) || (key0 === "tools"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema63,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.attempts;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/attempts",schemaPath:"#/properties/attempts/type",keyword:"type",params:{type: "integer"},schema:schema63.properties.attempts.type,parentSchema:schema63.properties.attempts,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 10 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/attempts",schemaPath:"#/properties/attempts/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10},schema:10,parentSchema:schema63.properties.attempts,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0 < 1 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/attempts",schemaPath:"#/properties/attempts/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema63.properties.attempts,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.backoff;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/backoff",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/backoff",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err6 = {instancePath:instancePath+"/backoff",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.tools;
if(Array.isArray(data2)){
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 === "string"){
if(data3.length < 1){
const err7 = {instancePath:instancePath+"/tools/" + i0,schemaPath:"#/$defs/globList/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/tools/" + i0,schemaPath:"#/$defs/globList/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globList/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema63.type,parentSchema:schema63,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate38.errors = vErrors;
return errors === 0;
}


function validate37(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if((!(data && typeof data == "object" && !Array.isArray(data))) && (typeof data !== "boolean")){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema62.type},schema:schema62.type,parentSchema:schema62,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const _errs1 = errors;
let valid0 = true;
const _errs2 = errors;
if(!(data && typeof data == "object" && !Array.isArray(data))){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs2 === errors;
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs4 = errors;
if(!(validate38(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate38.errors : vErrors.concat(validate38.errors);
errors = vErrors.length;
}
var _valid0 = _errs4 === errors;
valid0 = _valid0;
ifClause0 = "then";
}
else {
const _errs5 = errors;
if(false !== data){
const err2 = {instancePath,schemaPath:"#/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema62.else,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var _valid0 = _errs5 === errors;
valid0 = _valid0;
ifClause0 = "else";
}
if(!valid0){
const err3 = {instancePath,schemaPath:"#/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema62.if,parentSchema:schema62,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate37.errors = vErrors;
return errors === 0;
}

const schema69 = {"type":"object","additionalProperties":false,"properties":{"lists":{"$ref":"#/$defs/cacheTimes"},"resources":{"$ref":"#/$defs/cacheTimes"},"prompts":{"$ref":"#/$defs/cacheTimes"},"tools":{"$ref":"#/$defs/cacheTools"}}};
const schema70 = {"type":["string","integer","object"],"if":{"type":"object"},"then":{"$ref":"#/$defs/CachePolicyConfig"},"else":{"$ref":"#/$defs/duration"}};
const schema71 = {"type":"object","additionalProperties":false,"required":["ttl"],"properties":{"ttl":{"description":"How long an answer is given without asking the server.","$ref":"#/$defs/duration"},"staleWhileRevalidate":{"$ref":"#/$defs/staleWhileRevalidate"},"staleIfError":{"$ref":"#/$defs/staleIfError"},"vary":{"$ref":"#/$defs/cacheVary"},"tags":{"$ref":"#/$defs/cacheTags"}}};
const schema75 = {"type":"array","minItems":1,"items":{"type":"string","pattern":"^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$","x-says":"principal, session, header:<name> or argument:<name>"}};
const schema76 = {"type":"array","minItems":1,"items":{"type":"string","pattern":"^[A-Za-z0-9_.-]{1,64}$","x-says":"a word of letters, digits, underscores, dots and hyphens"}};
const pattern33 = new RegExp("^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$", "u");
const pattern34 = new RegExp("^[A-Za-z0-9_.-]{1,64}$", "u");

function validate43(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.ttl === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "ttl"},schema:schema71.required,parentSchema:schema71,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((((key0 === "ttl") || (key0 === "staleWhileRevalidate")) || (key0 === "staleIfError")) || (key0 === "vary")) || (key0 === "tags"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema71,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.ttl !== undefined){
let data0 = data.ttl;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err2 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err4 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
if(data.staleWhileRevalidate !== undefined){
let data1 = data.staleWhileRevalidate;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err5 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err6 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err7 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
if(data.staleIfError !== undefined){
let data2 = data.staleIfError;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err8 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err10 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
if(data.vary !== undefined){
let data3 = data.vary;
if(Array.isArray(data3)){
if(data3.length < 1){
const err11 = {instancePath:instancePath+"/vary",schemaPath:"#/$defs/cacheVary/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema75,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
if(typeof data4 === "string"){
if(!pattern33.test(data4)){
const err12 = {instancePath:instancePath+"/vary/" + i0,schemaPath:"#/$defs/cacheVary/items/pattern",keyword:"pattern",params:{pattern: "^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$"},schema:"^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$",parentSchema:schema75.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/vary/" + i0,schemaPath:"#/$defs/cacheVary/items/type",keyword:"type",params:{type: "string"},schema:schema75.items.type,parentSchema:schema75.items,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/vary",schemaPath:"#/$defs/cacheVary/type",keyword:"type",params:{type: "array"},schema:schema75.type,parentSchema:schema75,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.tags !== undefined){
let data5 = data.tags;
if(Array.isArray(data5)){
if(data5.length < 1){
const err15 = {instancePath:instancePath+"/tags",schemaPath:"#/$defs/cacheTags/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema76,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
const len1 = data5.length;
for(let i1=0; i1<len1; i1++){
let data6 = data5[i1];
if(typeof data6 === "string"){
if(!pattern34.test(data6)){
const err16 = {instancePath:instancePath+"/tags/" + i1,schemaPath:"#/$defs/cacheTags/items/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{1,64}$"},schema:"^[A-Za-z0-9_.-]{1,64}$",parentSchema:schema76.items,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
else {
const err17 = {instancePath:instancePath+"/tags/" + i1,schemaPath:"#/$defs/cacheTags/items/type",keyword:"type",params:{type: "string"},schema:schema76.items.type,parentSchema:schema76.items,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
else {
const err18 = {instancePath:instancePath+"/tags",schemaPath:"#/$defs/cacheTags/type",keyword:"type",params:{type: "array"},schema:schema76.type,parentSchema:schema76,data:data5};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
else {
const err19 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema71.type,parentSchema:schema71,data};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
validate43.errors = vErrors;
return errors === 0;
}


function validate42(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(((typeof data !== "string") && (!(((typeof data == "number") && (!(data % 1) && !isNaN(data))) && (isFinite(data))))) && (!(data && typeof data == "object" && !Array.isArray(data)))){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema70.type},schema:schema70.type,parentSchema:schema70,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const _errs1 = errors;
let valid0 = true;
const _errs2 = errors;
if(!(data && typeof data == "object" && !Array.isArray(data))){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs2 === errors;
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs4 = errors;
if(!(validate43(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate43.errors : vErrors.concat(validate43.errors);
errors = vErrors.length;
}
var _valid0 = _errs4 === errors;
valid0 = _valid0;
ifClause0 = "then";
}
else {
const _errs5 = errors;
if((typeof data !== "string") && (!(((typeof data == "number") && (!(data % 1) && !isNaN(data))) && (isFinite(data))))){
const err2 = {instancePath,schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if((typeof data == "number") && (isFinite(data))){
if(data < 0 || isNaN(data)){
const err3 = {instancePath,schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(typeof data === "string"){
if(!pattern0.test(data)){
const err4 = {instancePath,schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
var _valid0 = _errs5 === errors;
valid0 = _valid0;
ifClause0 = "else";
}
if(!valid0){
const err5 = {instancePath,schemaPath:"#/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema70.if,parentSchema:schema70,data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
validate42.errors = vErrors;
return errors === 0;
}

const schema78 = {"x-globs":true,"type":"object","additionalProperties":{"type":["string","integer","object"],"if":{"type":"object"},"then":{"$ref":"#/$defs/CacheToolConfig"},"else":{"$ref":"#/$defs/duration"}}};
const schema79 = {"type":"object","additionalProperties":false,"properties":{"ttl":{"$ref":"#/$defs/duration"},"staleWhileRevalidate":{"$ref":"#/$defs/staleWhileRevalidate"},"staleIfError":{"$ref":"#/$defs/staleIfError"},"vary":{"$ref":"#/$defs/cacheVary"},"tags":{"$ref":"#/$defs/cacheTags"},"purges":{"type":"array","minItems":1,"items":{"type":"string","minLength":1}}}};

function validate49(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "ttl") || (key0 === "staleWhileRevalidate")) || (key0 === "staleIfError")) || (key0 === "vary")) || (key0 === "tags")) || (key0 === "purges"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema79,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.ttl !== undefined){
let data0 = data.ttl;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err3 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.staleWhileRevalidate !== undefined){
let data1 = data.staleWhileRevalidate;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err6 = {instancePath:instancePath+"/staleWhileRevalidate",schemaPath:"#/$defs/staleWhileRevalidate/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.staleIfError !== undefined){
let data2 = data.staleIfError;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err9 = {instancePath:instancePath+"/staleIfError",schemaPath:"#/$defs/staleIfError/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.vary !== undefined){
let data3 = data.vary;
if(Array.isArray(data3)){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/vary",schemaPath:"#/$defs/cacheVary/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema75,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
if(typeof data4 === "string"){
if(!pattern33.test(data4)){
const err11 = {instancePath:instancePath+"/vary/" + i0,schemaPath:"#/$defs/cacheVary/items/pattern",keyword:"pattern",params:{pattern: "^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$"},schema:"^(principal|session|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|argument:[^\\s].*)$",parentSchema:schema75.items,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/vary/" + i0,schemaPath:"#/$defs/cacheVary/items/type",keyword:"type",params:{type: "string"},schema:schema75.items.type,parentSchema:schema75.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/vary",schemaPath:"#/$defs/cacheVary/type",keyword:"type",params:{type: "array"},schema:schema75.type,parentSchema:schema75,data:data3};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(data.tags !== undefined){
let data5 = data.tags;
if(Array.isArray(data5)){
if(data5.length < 1){
const err14 = {instancePath:instancePath+"/tags",schemaPath:"#/$defs/cacheTags/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema76,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
const len1 = data5.length;
for(let i1=0; i1<len1; i1++){
let data6 = data5[i1];
if(typeof data6 === "string"){
if(!pattern34.test(data6)){
const err15 = {instancePath:instancePath+"/tags/" + i1,schemaPath:"#/$defs/cacheTags/items/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{1,64}$"},schema:"^[A-Za-z0-9_.-]{1,64}$",parentSchema:schema76.items,data:data6};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/tags/" + i1,schemaPath:"#/$defs/cacheTags/items/type",keyword:"type",params:{type: "string"},schema:schema76.items.type,parentSchema:schema76.items,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath:instancePath+"/tags",schemaPath:"#/$defs/cacheTags/type",keyword:"type",params:{type: "array"},schema:schema76.type,parentSchema:schema76,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(data.purges !== undefined){
let data7 = data.purges;
if(Array.isArray(data7)){
if(data7.length < 1){
const err18 = {instancePath:instancePath+"/purges",schemaPath:"#/properties/purges/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema79.properties.purges,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
const len2 = data7.length;
for(let i2=0; i2<len2; i2++){
let data8 = data7[i2];
if(typeof data8 === "string"){
if(data8.length < 1){
const err19 = {instancePath:instancePath+"/purges/" + i2,schemaPath:"#/properties/purges/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema79.properties.purges.items,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
else {
const err20 = {instancePath:instancePath+"/purges/" + i2,schemaPath:"#/properties/purges/items/type",keyword:"type",params:{type: "string"},schema:schema79.properties.purges.items.type,parentSchema:schema79.properties.purges.items,data:data8};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
else {
const err21 = {instancePath:instancePath+"/purges",schemaPath:"#/properties/purges/type",keyword:"type",params:{type: "array"},schema:schema79.properties.purges.type,parentSchema:schema79.properties.purges,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
else {
const err22 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema79.type,parentSchema:schema79,data};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
validate49.errors = vErrors;
return errors === 0;
}


function validate48(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
let data0 = data[key0];
if(((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))) && (!(data0 && typeof data0 == "object" && !Array.isArray(data0)))){
const err0 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/additionalProperties/type",keyword:"type",params:{type: schema78.additionalProperties.type},schema:schema78.additionalProperties.type,parentSchema:schema78.additionalProperties,data:data0};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const _errs4 = errors;
let valid1 = true;
const _errs5 = errors;
if(!(data0 && typeof data0 == "object" && !Array.isArray(data0))){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs5 === errors;
errors = _errs4;
if(vErrors !== null){
if(_errs4){
vErrors.length = _errs4;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs7 = errors;
if(!(validate49(data0, {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data,parentDataProperty:key0,rootData}))){
vErrors = vErrors === null ? validate49.errors : vErrors.concat(validate49.errors);
errors = vErrors.length;
}
var _valid0 = _errs7 === errors;
valid1 = _valid0;
ifClause0 = "then";
}
else {
const _errs8 = errors;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err2 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err4 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
var _valid0 = _errs8 === errors;
valid1 = _valid0;
ifClause0 = "else";
}
if(!valid1){
const err5 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/additionalProperties/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema78.additionalProperties.if,parentSchema:schema78.additionalProperties,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema78.type,parentSchema:schema78,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
validate48.errors = vErrors;
return errors === 0;
}


function validate41(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((key0 === "lists") || (key0 === "resources")) || (key0 === "prompts")) || (key0 === "tools"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema69,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.lists !== undefined){
if(!(validate42(data.lists, {instancePath:instancePath+"/lists",parentData:data,parentDataProperty:"lists",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate42(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate42(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
}
if(data.tools !== undefined){
if(!(validate48(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate48.errors : vErrors.concat(validate48.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema69.type,parentSchema:schema69,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
validate41.errors = vErrors;
return errors === 0;
}

const schema90 = {"type":"object","additionalProperties":false,"properties":{"allow":{"$ref":"#/$defs/allow"},"deny":{"$ref":"#/$defs/deny"},"rename":{"$ref":"#/$defs/rename"},"describe":{"$ref":"#/$defs/describe"},"timeout":{"type":"object","additionalProperties":{"$ref":"#/$defs/duration"}}}};
const schema93 = {"type":"object","additionalProperties":{"type":"string","pattern":"^[A-Za-z0-9_./-]{1,128}$","x-says":"a name of 1 to 128 letters, digits, underscores, dots, slashes and hyphens"}};
const schema94 = {"type":"object","additionalProperties":{"type":"string"}};
const pattern44 = new RegExp("^[A-Za-z0-9_./-]{1,128}$", "u");

function validate53(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((((key0 === "allow") || (key0 === "deny")) || (key0 === "rename")) || (key0 === "describe")) || (key0 === "timeout"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema90,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.allow !== undefined){
let data0 = data.allow;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err1 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
else {
const err3 = {instancePath:instancePath+"/allow",schemaPath:"#/$defs/allow/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.deny !== undefined){
let data2 = data.deny;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err4 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/deny/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.rename !== undefined){
let data4 = data.rename;
if(data4 && typeof data4 == "object" && !Array.isArray(data4)){
for(const key1 in data4){
let data5 = data4[key1];
if(typeof data5 === "string"){
if(!pattern44.test(data5)){
const err7 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/rename/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_./-]{1,128}$"},schema:"^[A-Za-z0-9_./-]{1,128}$",parentSchema:schema93.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/rename/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema93.additionalProperties.type,parentSchema:schema93.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/rename",schemaPath:"#/$defs/rename/type",keyword:"type",params:{type: "object"},schema:schema93.type,parentSchema:schema93,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.describe !== undefined){
let data6 = data.describe;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key2 in data6){
let data7 = data6[key2];
if(typeof data7 !== "string"){
const err10 = {instancePath:instancePath+"/describe/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/describe/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema94.additionalProperties.type,parentSchema:schema94.additionalProperties,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
else {
const err11 = {instancePath:instancePath+"/describe",schemaPath:"#/$defs/describe/type",keyword:"type",params:{type: "object"},schema:schema94.type,parentSchema:schema94,data:data6};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.timeout !== undefined){
let data8 = data.timeout;
if(data8 && typeof data8 == "object" && !Array.isArray(data8)){
for(const key3 in data8){
let data9 = data8[key3];
if((typeof data9 !== "string") && (!(((typeof data9 == "number") && (!(data9 % 1) && !isNaN(data9))) && (isFinite(data9))))){
const err12 = {instancePath:instancePath+"/timeout/" + key3.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if((typeof data9 == "number") && (isFinite(data9))){
if(data9 < 0 || isNaN(data9)){
const err13 = {instancePath:instancePath+"/timeout/" + key3.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(typeof data9 === "string"){
if(!pattern0.test(data9)){
const err14 = {instancePath:instancePath+"/timeout/" + key3.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
}
else {
const err15 = {instancePath:instancePath+"/timeout",schemaPath:"#/properties/timeout/type",keyword:"type",params:{type: "object"},schema:schema90.properties.timeout.type,parentSchema:schema90.properties.timeout,data:data8};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema90.type,parentSchema:schema90,data};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
validate53.errors = vErrors;
return errors === 0;
}

const schema96 = {"type":"object","additionalProperties":false,"properties":{"allow":{"$ref":"#/$defs/allow"},"deny":{"$ref":"#/$defs/deny"},"rename":{"$ref":"#/$defs/rename"},"describe":{"$ref":"#/$defs/describe"}}};

function validate55(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((key0 === "allow") || (key0 === "deny")) || (key0 === "rename")) || (key0 === "describe"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema96,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.allow !== undefined){
let data0 = data.allow;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err1 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
else {
const err3 = {instancePath:instancePath+"/allow",schemaPath:"#/$defs/allow/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.deny !== undefined){
let data2 = data.deny;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err4 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/deny/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.rename !== undefined){
let data4 = data.rename;
if(data4 && typeof data4 == "object" && !Array.isArray(data4)){
for(const key1 in data4){
let data5 = data4[key1];
if(typeof data5 === "string"){
if(!pattern44.test(data5)){
const err7 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/rename/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_./-]{1,128}$"},schema:"^[A-Za-z0-9_./-]{1,128}$",parentSchema:schema93.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/rename/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema93.additionalProperties.type,parentSchema:schema93.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/rename",schemaPath:"#/$defs/rename/type",keyword:"type",params:{type: "object"},schema:schema93.type,parentSchema:schema93,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.describe !== undefined){
let data6 = data.describe;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key2 in data6){
let data7 = data6[key2];
if(typeof data7 !== "string"){
const err10 = {instancePath:instancePath+"/describe/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/describe/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema94.additionalProperties.type,parentSchema:schema94.additionalProperties,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
else {
const err11 = {instancePath:instancePath+"/describe",schemaPath:"#/$defs/describe/type",keyword:"type",params:{type: "object"},schema:schema94.type,parentSchema:schema94,data:data6};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema96.type,parentSchema:schema96,data};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
validate55.errors = vErrors;
return errors === 0;
}

const schema101 = {"type":"object","additionalProperties":false,"properties":{"allow":{"$ref":"#/$defs/allow"},"deny":{"$ref":"#/$defs/deny"},"rename":{"type":"object","additionalProperties":{"type":"string","minLength":1,"maxLength":2048}},"describe":{"$ref":"#/$defs/describe"}}};

function validate57(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((key0 === "allow") || (key0 === "deny")) || (key0 === "rename")) || (key0 === "describe"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema101,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.allow !== undefined){
let data0 = data.allow;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err1 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
else {
const err3 = {instancePath:instancePath+"/allow",schemaPath:"#/$defs/allow/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.deny !== undefined){
let data2 = data.deny;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err4 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/deny/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.rename !== undefined){
let data4 = data.rename;
if(data4 && typeof data4 == "object" && !Array.isArray(data4)){
for(const key1 in data4){
let data5 = data4[key1];
if(typeof data5 === "string"){
if(data5.length > 2048){
const err7 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/rename/additionalProperties/maxLength",keyword:"maxLength",params:{limit: 2048},schema:2048,parentSchema:schema101.properties.rename.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data5.length < 1){
const err8 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/rename/additionalProperties/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema101.properties.rename.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/rename/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/rename/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema101.properties.rename.additionalProperties.type,parentSchema:schema101.properties.rename.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath:instancePath+"/rename",schemaPath:"#/properties/rename/type",keyword:"type",params:{type: "object"},schema:schema101.properties.rename.type,parentSchema:schema101.properties.rename,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.describe !== undefined){
let data6 = data.describe;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key2 in data6){
let data7 = data6[key2];
if(typeof data7 !== "string"){
const err11 = {instancePath:instancePath+"/describe/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/describe/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema94.additionalProperties.type,parentSchema:schema94.additionalProperties,data:data7};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath:instancePath+"/describe",schemaPath:"#/$defs/describe/type",keyword:"type",params:{type: "object"},schema:schema94.type,parentSchema:schema94,data:data6};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema101.type,parentSchema:schema101,data};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
validate57.errors = vErrors;
return errors === 0;
}

const pattern22 = new RegExp("^[A-Za-z0-9_.-]{0,64}$", "u");

function validate28(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.args === undefined){
data.args = [];
}
if(data.env === undefined){
data.env = {};
}
if(data.inheritEnv === undefined){
data.inheritEnv = [];
}
if(data.cwd === undefined){
data.cwd = ".";
}
if(data.maxLine === undefined){
data.maxLine = "10MiB";
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.startupTimeout === undefined){
data.startupTimeout = "30s";
}
if(data.timeout === undefined){
data.timeout = "60s";
}
if(data.limits === undefined){
data.limits = {};
}
if(data.breaker === undefined){
data.breaker = {};
}
if(data.retry === undefined){
data.retry = {};
}
if(data.onFailure === undefined){
data.onFailure = "omit";
}
if(data.era === undefined){
data.era = "auto";
}
if(data.isolation === undefined){
data.isolation = "shared";
}
if(data.start === undefined){
data.start = "auto";
}
if(data.replicas === undefined){
data.replicas = 1;
}
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema44.required,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.command === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "command"},schema:schema44.required,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema44.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema44.properties.type.type,parentSchema:schema44.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if("stdio" !== data0){
const err4 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "stdio"},schema:"stdio",parentSchema:schema44.properties.type,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.command !== undefined){
let data1 = data.command;
if(typeof data1 === "string"){
if(data1.length < 1){
const err5 = {instancePath:instancePath+"/command",schemaPath:"#/properties/command/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema44.properties.command,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/command",schemaPath:"#/properties/command/type",keyword:"type",params:{type: "string"},schema:schema44.properties.command.type,parentSchema:schema44.properties.command,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.args;
if(Array.isArray(data2)){
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 !== "string"){
const err7 = {instancePath:instancePath+"/args/" + i0,schemaPath:"#/properties/args/items/type",keyword:"type",params:{type: "string"},schema:schema44.properties.args.items.type,parentSchema:schema44.properties.args.items,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/args",schemaPath:"#/properties/args/type",keyword:"type",params:{type: "array"},schema:schema44.properties.args.type,parentSchema:schema44.properties.args,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
let data4 = data.env;
if(data4 && typeof data4 == "object" && !Array.isArray(data4)){
for(const key1 in data4){
let data5 = data4[key1];
if(typeof data5 !== "string"){
const err9 = {instancePath:instancePath+"/env/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/env/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema44.properties.env.additionalProperties.type,parentSchema:schema44.properties.env.additionalProperties,data:data5};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath:instancePath+"/env",schemaPath:"#/properties/env/type",keyword:"type",params:{type: "object"},schema:schema44.properties.env.type,parentSchema:schema44.properties.env,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
let data6 = data.inheritEnv;
if(Array.isArray(data6)){
const len1 = data6.length;
for(let i1=0; i1<len1; i1++){
let data7 = data6[i1];
if(typeof data7 === "string"){
if(data7.length < 1){
const err11 = {instancePath:instancePath+"/inheritEnv/" + i1,schemaPath:"#/properties/inheritEnv/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema44.properties.inheritEnv.items,data:data7};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/inheritEnv/" + i1,schemaPath:"#/properties/inheritEnv/items/type",keyword:"type",params:{type: "string"},schema:schema44.properties.inheritEnv.items.type,parentSchema:schema44.properties.inheritEnv.items,data:data7};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/inheritEnv",schemaPath:"#/properties/inheritEnv/type",keyword:"type",params:{type: "array"},schema:schema44.properties.inheritEnv.type,parentSchema:schema44.properties.inheritEnv,data:data6};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
let data8 = data.cwd;
if(typeof data8 === "string"){
if(data8.length < 1){
const err14 = {instancePath:instancePath+"/cwd",schemaPath:"#/properties/cwd/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema44.properties.cwd,data:data8};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/cwd",schemaPath:"#/properties/cwd/type",keyword:"type",params:{type: "string"},schema:schema44.properties.cwd.type,parentSchema:schema44.properties.cwd,data:data8};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
if(data.projects !== undefined){
let data9 = data.projects;
if(Array.isArray(data9)){
if(data9.length < 1){
const err16 = {instancePath:instancePath+"/projects",schemaPath:"#/properties/projects/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema44.properties.projects,data:data9};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
const len2 = data9.length;
for(let i2=0; i2<len2; i2++){
let data10 = data9[i2];
if(typeof data10 === "string"){
if(data10.length < 1){
const err17 = {instancePath:instancePath+"/projects/" + i2,schemaPath:"#/properties/projects/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema44.properties.projects.items,data:data10};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/projects/" + i2,schemaPath:"#/properties/projects/items/type",keyword:"type",params:{type: "string"},schema:schema44.properties.projects.items.type,parentSchema:schema44.properties.projects.items,data:data10};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
else {
const err19 = {instancePath:instancePath+"/projects",schemaPath:"#/properties/projects/type",keyword:"type",params:{type: "array"},schema:schema44.properties.projects.type,parentSchema:schema44.properties.projects,data:data9};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data.ceilings !== undefined){
if(!(validate29(data.ceilings, {instancePath:instancePath+"/ceilings",parentData:data,parentDataProperty:"ceilings",rootData}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
if(data.sandbox !== undefined){
let data12 = data.sandbox;
if((!(data12 && typeof data12 == "object" && !Array.isArray(data12))) && (typeof data12 !== "string")){
const err20 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/type",keyword:"type",params:{type: schema44.properties.sandbox.type},schema:schema44.properties.sandbox.type,parentSchema:schema44.properties.sandbox,data:data12};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
const _errs28 = errors;
let valid8 = true;
const _errs29 = errors;
if(!(data12 && typeof data12 == "object" && !Array.isArray(data12))){
const err21 = {};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
var _valid0 = _errs29 === errors;
errors = _errs28;
if(vErrors !== null){
if(_errs28){
vErrors.length = _errs28;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs31 = errors;
if(data12 && typeof data12 == "object" && !Array.isArray(data12)){
if(data12.read === undefined){
data12.read = [];
}
if(data12.write === undefined){
data12.write = [];
}
if(data12.network === undefined){
data12.network = false;
}
if(data12.hide === undefined){
data12.hide = [];
}
if(data12.type === undefined){
const err22 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/required",keyword:"required",params:{missingProperty: "type"},schema:schema49.required,parentSchema:schema49,data:data12};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
for(const key2 in data12){
if(!(((((key2 === "type") || (key2 === "read")) || (key2 === "write")) || (key2 === "network")) || (key2 === "hide"))){
const err23 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},schema:false,parentSchema:schema49,data:data12};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(data12.type !== undefined){
let data13 = data12.type;
if(typeof data13 !== "string"){
const err24 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/type",keyword:"type",params:{type: "string"},schema:schema49.properties.type.type,parentSchema:schema49.properties.type,data:data13};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
if("bwrap" !== data13){
const err25 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema49.properties.type,data:data13};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
let data14 = data12.read;
if(Array.isArray(data14)){
const len3 = data14.length;
for(let i3=0; i3<len3; i3++){
let data15 = data14[i3];
if(typeof data15 === "string"){
if(data15.length < 1){
const err26 = {instancePath:instancePath+"/sandbox/read/" + i3,schemaPath:"#/$defs/SandboxConfig/properties/read/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.read.items,data:data15};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
else {
const err27 = {instancePath:instancePath+"/sandbox/read/" + i3,schemaPath:"#/$defs/SandboxConfig/properties/read/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.read.items.type,parentSchema:schema49.properties.read.items,data:data15};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
}
else {
const err28 = {instancePath:instancePath+"/sandbox/read",schemaPath:"#/$defs/SandboxConfig/properties/read/type",keyword:"type",params:{type: "array"},schema:schema49.properties.read.type,parentSchema:schema49.properties.read,data:data14};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
let data16 = data12.write;
if(Array.isArray(data16)){
const len4 = data16.length;
for(let i4=0; i4<len4; i4++){
let data17 = data16[i4];
if(typeof data17 === "string"){
if(data17.length < 1){
const err29 = {instancePath:instancePath+"/sandbox/write/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/write/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.write.items,data:data17};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
else {
const err30 = {instancePath:instancePath+"/sandbox/write/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/write/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.write.items.type,parentSchema:schema49.properties.write.items,data:data17};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
}
else {
const err31 = {instancePath:instancePath+"/sandbox/write",schemaPath:"#/$defs/SandboxConfig/properties/write/type",keyword:"type",params:{type: "array"},schema:schema49.properties.write.type,parentSchema:schema49.properties.write,data:data16};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
let data18 = data12.network;
if(typeof data18 !== "boolean"){
const err32 = {instancePath:instancePath+"/sandbox/network",schemaPath:"#/$defs/SandboxConfig/properties/network/type",keyword:"type",params:{type: "boolean"},schema:schema49.properties.network.type,parentSchema:schema49.properties.network,data:data18};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
let data19 = data12.hide;
if(Array.isArray(data19)){
const len5 = data19.length;
for(let i5=0; i5<len5; i5++){
let data20 = data19[i5];
if(typeof data20 === "string"){
if(data20.length < 1){
const err33 = {instancePath:instancePath+"/sandbox/hide/" + i5,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.hide.items,data:data20};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
else {
const err34 = {instancePath:instancePath+"/sandbox/hide/" + i5,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.hide.items.type,parentSchema:schema49.properties.hide.items,data:data20};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
}
else {
const err35 = {instancePath:instancePath+"/sandbox/hide",schemaPath:"#/$defs/SandboxConfig/properties/hide/type",keyword:"type",params:{type: "array"},schema:schema49.properties.hide.type,parentSchema:schema49.properties.hide,data:data19};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
else {
const err36 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/type",keyword:"type",params:{type: "object"},schema:schema49.type,parentSchema:schema49,data:data12};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid0 = _errs31 === errors;
valid8 = _valid0;
ifClause0 = "then";
}
else {
const _errs51 = errors;
if("bwrap" !== data12){
const err37 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/else/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema44.properties.sandbox.else,data:data12};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
var _valid0 = _errs51 === errors;
valid8 = _valid0;
ifClause0 = "else";
}
if(!valid8){
const err38 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema44.properties.sandbox.if,parentSchema:schema44.properties.sandbox,data:data12};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
let data21 = data.maxLine;
if((typeof data21 !== "string") && (!(((typeof data21 == "number") && (!(data21 % 1) && !isNaN(data21))) && (isFinite(data21))))){
const err39 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data21};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
if((typeof data21 == "number") && (isFinite(data21))){
if(data21 < 0 || isNaN(data21)){
const err40 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data21};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
if(typeof data21 === "string"){
if(!pattern12.test(data21)){
const err41 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data21};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
if(data.prefix !== undefined){
let data22 = data.prefix;
if(typeof data22 === "string"){
if(!pattern22.test(data22)){
const err42 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,64}$"},schema:"^[A-Za-z0-9_.-]{0,64}$",parentSchema:schema51,data:data22};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
else {
const err43 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/type",keyword:"type",params:{type: "string"},schema:schema51.type,parentSchema:schema51,data:data22};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
let data23 = data.enabled;
if(typeof data23 !== "boolean"){
const err44 = {instancePath:instancePath+"/enabled",schemaPath:"#/$defs/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema52.type,parentSchema:schema52,data:data23};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
let data24 = data.startupTimeout;
if((typeof data24 !== "string") && (!(((typeof data24 == "number") && (!(data24 % 1) && !isNaN(data24))) && (isFinite(data24))))){
const err45 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if((typeof data24 == "number") && (isFinite(data24))){
if(data24 < 0 || isNaN(data24)){
const err46 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
if(typeof data24 === "string"){
if(!pattern0.test(data24)){
const err47 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
let data25 = data.timeout;
if((typeof data25 !== "string") && (!(((typeof data25 == "number") && (!(data25 % 1) && !isNaN(data25))) && (isFinite(data25))))){
const err48 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data25};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
if((typeof data25 == "number") && (isFinite(data25))){
if(data25 < 0 || isNaN(data25)){
const err49 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data25};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
if(typeof data25 === "string"){
if(!pattern0.test(data25)){
const err50 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data25};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
if(!(validate31(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate31.errors : vErrors.concat(validate31.errors);
errors = vErrors.length;
}
if(!(validate33(data.breaker, {instancePath:instancePath+"/breaker",parentData:data,parentDataProperty:"breaker",rootData}))){
vErrors = vErrors === null ? validate33.errors : vErrors.concat(validate33.errors);
errors = vErrors.length;
}
if(!(validate37(data.retry, {instancePath:instancePath+"/retry",parentData:data,parentDataProperty:"retry",rootData}))){
vErrors = vErrors === null ? validate37.errors : vErrors.concat(validate37.errors);
errors = vErrors.length;
}
let data29 = data.onFailure;
if(typeof data29 !== "string"){
const err51 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/type",keyword:"type",params:{type: "string"},schema:schema66.type,parentSchema:schema66,data:data29};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
if(!(((data29 === "omit") || (data29 === "keep")) || (data29 === "fail"))){
const err52 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/enum",keyword:"enum",params:{allowedValues: schema66.enum},schema:schema66.enum,parentSchema:schema66,data:data29};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
let data30 = data.era;
if(typeof data30 !== "string"){
const err53 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/type",keyword:"type",params:{type: "string"},schema:schema67.type,parentSchema:schema67,data:data30};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
if(!(((data30 === "auto") || (data30 === "legacy")) || (data30 === "modern"))){
const err54 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/enum",keyword:"enum",params:{allowedValues: schema67.enum},schema:schema67.enum,parentSchema:schema67,data:data30};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
let data31 = data.isolation;
if(typeof data31 !== "string"){
const err55 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/type",keyword:"type",params:{type: "string"},schema:schema68.type,parentSchema:schema68,data:data31};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
if(!(((data31 === "shared") || (data31 === "session")) || (data31 === "principal"))){
const err56 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/enum",keyword:"enum",params:{allowedValues: schema68.enum},schema:schema68.enum,parentSchema:schema68,data:data31};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
if(data.cache !== undefined){
let data32 = data.cache;
if((!(data32 && typeof data32 == "object" && !Array.isArray(data32))) && (typeof data32 !== "boolean")){
const err57 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/type",keyword:"type",params:{type: schema44.properties.cache.type},schema:schema44.properties.cache.type,parentSchema:schema44.properties.cache,data:data32};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
const _errs81 = errors;
let valid25 = true;
const _errs82 = errors;
if(!(data32 && typeof data32 == "object" && !Array.isArray(data32))){
const err58 = {};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
var _valid1 = _errs82 === errors;
errors = _errs81;
if(vErrors !== null){
if(_errs81){
vErrors.length = _errs81;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid1){
const _errs84 = errors;
if(!(validate41(data32, {instancePath:instancePath+"/cache",parentData:data,parentDataProperty:"cache",rootData}))){
vErrors = vErrors === null ? validate41.errors : vErrors.concat(validate41.errors);
errors = vErrors.length;
}
var _valid1 = _errs84 === errors;
valid25 = _valid1;
ifClause1 = "then";
}
else {
const _errs85 = errors;
if(false !== data32){
const err59 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema44.properties.cache.else,data:data32};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
var _valid1 = _errs85 === errors;
valid25 = _valid1;
ifClause1 = "else";
}
if(!valid25){
const err60 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/if",keyword:"if",params:{failingKeyword: ifClause1},schema:schema44.properties.cache.if,parentSchema:schema44.properties.cache,data:data32};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
}
let data33 = data.start;
if(typeof data33 !== "string"){
const err61 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/type",keyword:"type",params:{type: "string"},schema:schema86.type,parentSchema:schema86,data:data33};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
if(!(((data33 === "auto") || (data33 === "lazy")) || (data33 === "eager"))){
const err62 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/enum",keyword:"enum",params:{allowedValues: schema86.enum},schema:schema86.enum,parentSchema:schema86,data:data33};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
if(data.idle !== undefined){
let data34 = data.idle;
if((typeof data34 !== "string") && (!(((typeof data34 == "number") && (!(data34 % 1) && !isNaN(data34))) && (isFinite(data34))))){
const err63 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data34};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
if((typeof data34 == "number") && (isFinite(data34))){
if(data34 < 0 || isNaN(data34)){
const err64 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data34};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
}
if(typeof data34 === "string"){
if(!pattern0.test(data34)){
const err65 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data34};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
}
}
if(data.maxLifetime !== undefined){
let data35 = data.maxLifetime;
if((typeof data35 !== "string") && (!(((typeof data35 == "number") && (!(data35 % 1) && !isNaN(data35))) && (isFinite(data35))))){
const err66 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data35};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
if((typeof data35 == "number") && (isFinite(data35))){
if(data35 < 0 || isNaN(data35)){
const err67 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data35};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
if(typeof data35 === "string"){
if(!pattern0.test(data35)){
const err68 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data35};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
}
}
if(data.pool !== undefined){
let data36 = data.pool;
if(data36 && typeof data36 == "object" && !Array.isArray(data36)){
if(data36.min === undefined){
data36.min = 0;
}
if(data36.max === undefined){
data36.max = 64;
}
if(data36.perPrincipal === undefined){
data36.perPrincipal = 16;
}
for(const key3 in data36){
if(!(((key3 === "min") || (key3 === "max")) || (key3 === "perPrincipal"))){
const err69 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema89,data:data36};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
}
let data37 = data36.min;
if(!(((typeof data37 == "number") && (!(data37 % 1) && !isNaN(data37))) && (isFinite(data37)))){
const err70 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.min.type,parentSchema:schema89.properties.min,data:data37};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
if((typeof data37 == "number") && (isFinite(data37))){
if(data37 > 64 || isNaN(data37)){
const err71 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema89.properties.min,data:data37};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
if(data37 < 0 || isNaN(data37)){
const err72 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema89.properties.min,data:data37};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
}
}
let data38 = data36.max;
if(!(((typeof data38 == "number") && (!(data38 % 1) && !isNaN(data38))) && (isFinite(data38)))){
const err73 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.max.type,parentSchema:schema89.properties.max,data:data38};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
if((typeof data38 == "number") && (isFinite(data38))){
if(data38 > 1024 || isNaN(data38)){
const err74 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.max,data:data38};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
if(data38 < 1 || isNaN(data38)){
const err75 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.max,data:data38};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
let data39 = data36.perPrincipal;
if(!(((typeof data39 == "number") && (!(data39 % 1) && !isNaN(data39))) && (isFinite(data39)))){
const err76 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.perPrincipal.type,parentSchema:schema89.properties.perPrincipal,data:data39};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
}
if((typeof data39 == "number") && (isFinite(data39))){
if(data39 > 1024 || isNaN(data39)){
const err77 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.perPrincipal,data:data39};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
if(data39 < 1 || isNaN(data39)){
const err78 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.perPrincipal,data:data39};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
}
}
else {
const err79 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/type",keyword:"type",params:{type: "object"},schema:schema89.type,parentSchema:schema89,data:data36};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
}
let data40 = data.replicas;
if(!(((typeof data40 == "number") && (!(data40 % 1) && !isNaN(data40))) && (isFinite(data40)))){
const err80 = {instancePath:instancePath+"/replicas",schemaPath:"#/properties/replicas/type",keyword:"type",params:{type: "integer"},schema:schema44.properties.replicas.type,parentSchema:schema44.properties.replicas,data:data40};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
if((typeof data40 == "number") && (isFinite(data40))){
if(data40 > 64 || isNaN(data40)){
const err81 = {instancePath:instancePath+"/replicas",schemaPath:"#/properties/replicas/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema44.properties.replicas,data:data40};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
if(data40 < 1 || isNaN(data40)){
const err82 = {instancePath:instancePath+"/replicas",schemaPath:"#/properties/replicas/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema44.properties.replicas,data:data40};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
}
if(data.tools !== undefined){
if(!(validate53(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate53.errors : vErrors.concat(validate53.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate55(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate57(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate57.errors : vErrors.concat(validate57.errors);
errors = vErrors.length;
}
}
}
else {
const err83 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema44.type,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
}
validate28.errors = vErrors;
return errors === 0;
}

const schema105 = {"type":"object","additionalProperties":false,"required":["type","url"],"properties":{"type":{"description":"A server reached over HTTP.","const":"http","type":"string"},"url":{"description":"Its MCP endpoint.","type":"string","pattern":"^https?://[^\\s/?#]+[^\\s#]*$","x-says":"an http or https URL"},"headers":{"type":"object","propertyNames":{"$ref":"#/$defs/headerName"},"additionalProperties":{"type":"string","pattern":"^[^\\u0000\\r\\n]*$","x-says":"a header value on one line","x-secret":true}},"forwardHeaders":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/headerName"}},"maxReply":{"$ref":"#/$defs/size"},"prefix":{"$ref":"#/$defs/prefix"},"enabled":{"$ref":"#/$defs/enabled"},"startupTimeout":{"$ref":"#/$defs/startupTimeout"},"timeout":{"$ref":"#/$defs/timeout"},"limits":{"$ref":"#/$defs/UpstreamLimitsConfig"},"breaker":{"$ref":"#/$defs/breaker"},"retry":{"$ref":"#/$defs/retry"},"onFailure":{"$ref":"#/$defs/onFailure"},"era":{"$ref":"#/$defs/era"},"isolation":{"$ref":"#/$defs/isolation"},"cache":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/UpstreamCacheConfig"},"else":{"const":false,"x-says":"a map or false"}},"start":{"$ref":"#/$defs/start"},"idle":{"$ref":"#/$defs/idle"},"pool":{"$ref":"#/$defs/PoolConfig"},"maxLifetime":{"$ref":"#/$defs/maxLifetime"},"tools":{"$ref":"#/$defs/ToolFilterConfig"},"prompts":{"$ref":"#/$defs/FilterConfig"},"resources":{"$ref":"#/$defs/ResourceFilterConfig"}}};
const pattern47 = new RegExp("^https?://[^\\s/?#]+[^\\s#]*$", "u");
const pattern49 = new RegExp("^[^\\u0000\\r\\n]*$", "u");

function validate59(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.headers === undefined){
data.headers = {};
}
if(data.maxReply === undefined){
data.maxReply = "16MiB";
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.startupTimeout === undefined){
data.startupTimeout = "30s";
}
if(data.timeout === undefined){
data.timeout = "60s";
}
if(data.limits === undefined){
data.limits = {};
}
if(data.breaker === undefined){
data.breaker = {};
}
if(data.retry === undefined){
data.retry = {};
}
if(data.onFailure === undefined){
data.onFailure = "omit";
}
if(data.era === undefined){
data.era = "auto";
}
if(data.isolation === undefined){
data.isolation = "shared";
}
if(data.start === undefined){
data.start = "auto";
}
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema105.required,parentSchema:schema105,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.url === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "url"},schema:schema105.required,parentSchema:schema105,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema105.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema105,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema105.properties.type.type,parentSchema:schema105.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if("http" !== data0){
const err4 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "http"},schema:"http",parentSchema:schema105.properties.type,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.url !== undefined){
let data1 = data.url;
if(typeof data1 === "string"){
if(!pattern47.test(data1)){
const err5 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s#]*$"},schema:"^https?://[^\\s/?#]+[^\\s#]*$",parentSchema:schema105.properties.url,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/type",keyword:"type",params:{type: "string"},schema:schema105.properties.url.type,parentSchema:schema105.properties.url,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.headers;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
for(const key1 in data2){
const _errs8 = errors;
if(typeof key1 === "string"){
if(!pattern8.test(key1)){
const err7 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
var valid1 = _errs8 === errors;
if(!valid1){
const err9 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema105.properties.headers.propertyNames,parentSchema:schema105.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
for(const key2 in data2){
let data3 = data2[key2];
if(typeof data3 === "string"){
if(!pattern49.test(data3)){
const err10 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[^\\u0000\\r\\n]*$"},schema:"^[^\\u0000\\r\\n]*$",parentSchema:schema105.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema105.properties.headers.additionalProperties.type,parentSchema:schema105.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/type",keyword:"type",params:{type: "object"},schema:schema105.properties.headers.type,parentSchema:schema105.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data.forwardHeaders !== undefined){
let data4 = data.forwardHeaders;
if(Array.isArray(data4)){
if(data4.length < 1){
const err13 = {instancePath:instancePath+"/forwardHeaders",schemaPath:"#/properties/forwardHeaders/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema105.properties.forwardHeaders,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
if(typeof data5 === "string"){
if(!pattern8.test(data5)){
const err14 = {instancePath:instancePath+"/forwardHeaders/" + i0,schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/forwardHeaders/" + i0,schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath:instancePath+"/forwardHeaders",schemaPath:"#/properties/forwardHeaders/type",keyword:"type",params:{type: "array"},schema:schema105.properties.forwardHeaders.type,parentSchema:schema105.properties.forwardHeaders,data:data4};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
let data6 = data.maxReply;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err17 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err18 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern12.test(data6)){
const err19 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data.prefix !== undefined){
let data7 = data.prefix;
if(typeof data7 === "string"){
if(!pattern22.test(data7)){
const err20 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,64}$"},schema:"^[A-Za-z0-9_.-]{0,64}$",parentSchema:schema51,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/type",keyword:"type",params:{type: "string"},schema:schema51.type,parentSchema:schema51,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
let data8 = data.enabled;
if(typeof data8 !== "boolean"){
const err22 = {instancePath:instancePath+"/enabled",schemaPath:"#/$defs/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema52.type,parentSchema:schema52,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
let data9 = data.startupTimeout;
if((typeof data9 !== "string") && (!(((typeof data9 == "number") && (!(data9 % 1) && !isNaN(data9))) && (isFinite(data9))))){
const err23 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
if((typeof data9 == "number") && (isFinite(data9))){
if(data9 < 0 || isNaN(data9)){
const err24 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(typeof data9 === "string"){
if(!pattern0.test(data9)){
const err25 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
let data10 = data.timeout;
if((typeof data10 !== "string") && (!(((typeof data10 == "number") && (!(data10 % 1) && !isNaN(data10))) && (isFinite(data10))))){
const err26 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
if((typeof data10 == "number") && (isFinite(data10))){
if(data10 < 0 || isNaN(data10)){
const err27 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(typeof data10 === "string"){
if(!pattern0.test(data10)){
const err28 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
if(!(validate31(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate31.errors : vErrors.concat(validate31.errors);
errors = vErrors.length;
}
if(!(validate33(data.breaker, {instancePath:instancePath+"/breaker",parentData:data,parentDataProperty:"breaker",rootData}))){
vErrors = vErrors === null ? validate33.errors : vErrors.concat(validate33.errors);
errors = vErrors.length;
}
if(!(validate37(data.retry, {instancePath:instancePath+"/retry",parentData:data,parentDataProperty:"retry",rootData}))){
vErrors = vErrors === null ? validate37.errors : vErrors.concat(validate37.errors);
errors = vErrors.length;
}
let data14 = data.onFailure;
if(typeof data14 !== "string"){
const err29 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/type",keyword:"type",params:{type: "string"},schema:schema66.type,parentSchema:schema66,data:data14};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
if(!(((data14 === "omit") || (data14 === "keep")) || (data14 === "fail"))){
const err30 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/enum",keyword:"enum",params:{allowedValues: schema66.enum},schema:schema66.enum,parentSchema:schema66,data:data14};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
let data15 = data.era;
if(typeof data15 !== "string"){
const err31 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/type",keyword:"type",params:{type: "string"},schema:schema67.type,parentSchema:schema67,data:data15};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
if(!(((data15 === "auto") || (data15 === "legacy")) || (data15 === "modern"))){
const err32 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/enum",keyword:"enum",params:{allowedValues: schema67.enum},schema:schema67.enum,parentSchema:schema67,data:data15};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
let data16 = data.isolation;
if(typeof data16 !== "string"){
const err33 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/type",keyword:"type",params:{type: "string"},schema:schema68.type,parentSchema:schema68,data:data16};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
if(!(((data16 === "shared") || (data16 === "session")) || (data16 === "principal"))){
const err34 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/enum",keyword:"enum",params:{allowedValues: schema68.enum},schema:schema68.enum,parentSchema:schema68,data:data16};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
if(data.cache !== undefined){
let data17 = data.cache;
if((!(data17 && typeof data17 == "object" && !Array.isArray(data17))) && (typeof data17 !== "boolean")){
const err35 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/type",keyword:"type",params:{type: schema105.properties.cache.type},schema:schema105.properties.cache.type,parentSchema:schema105.properties.cache,data:data17};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
const _errs48 = errors;
let valid15 = true;
const _errs49 = errors;
if(!(data17 && typeof data17 == "object" && !Array.isArray(data17))){
const err36 = {};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid0 = _errs49 === errors;
errors = _errs48;
if(vErrors !== null){
if(_errs48){
vErrors.length = _errs48;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs51 = errors;
if(!(validate41(data17, {instancePath:instancePath+"/cache",parentData:data,parentDataProperty:"cache",rootData}))){
vErrors = vErrors === null ? validate41.errors : vErrors.concat(validate41.errors);
errors = vErrors.length;
}
var _valid0 = _errs51 === errors;
valid15 = _valid0;
ifClause0 = "then";
}
else {
const _errs52 = errors;
if(false !== data17){
const err37 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema105.properties.cache.else,data:data17};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
var _valid0 = _errs52 === errors;
valid15 = _valid0;
ifClause0 = "else";
}
if(!valid15){
const err38 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema105.properties.cache.if,parentSchema:schema105.properties.cache,data:data17};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
let data18 = data.start;
if(typeof data18 !== "string"){
const err39 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/type",keyword:"type",params:{type: "string"},schema:schema86.type,parentSchema:schema86,data:data18};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
if(!(((data18 === "auto") || (data18 === "lazy")) || (data18 === "eager"))){
const err40 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/enum",keyword:"enum",params:{allowedValues: schema86.enum},schema:schema86.enum,parentSchema:schema86,data:data18};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
if(data.idle !== undefined){
let data19 = data.idle;
if((typeof data19 !== "string") && (!(((typeof data19 == "number") && (!(data19 % 1) && !isNaN(data19))) && (isFinite(data19))))){
const err41 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
if((typeof data19 == "number") && (isFinite(data19))){
if(data19 < 0 || isNaN(data19)){
const err42 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
if(typeof data19 === "string"){
if(!pattern0.test(data19)){
const err43 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
}
if(data.pool !== undefined){
let data20 = data.pool;
if(data20 && typeof data20 == "object" && !Array.isArray(data20)){
if(data20.min === undefined){
data20.min = 0;
}
if(data20.max === undefined){
data20.max = 64;
}
if(data20.perPrincipal === undefined){
data20.perPrincipal = 16;
}
for(const key3 in data20){
if(!(((key3 === "min") || (key3 === "max")) || (key3 === "perPrincipal"))){
const err44 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema89,data:data20};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
let data21 = data20.min;
if(!(((typeof data21 == "number") && (!(data21 % 1) && !isNaN(data21))) && (isFinite(data21)))){
const err45 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.min.type,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if((typeof data21 == "number") && (isFinite(data21))){
if(data21 > 64 || isNaN(data21)){
const err46 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
if(data21 < 0 || isNaN(data21)){
const err47 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
let data22 = data20.max;
if(!(((typeof data22 == "number") && (!(data22 % 1) && !isNaN(data22))) && (isFinite(data22)))){
const err48 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.max.type,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
if((typeof data22 == "number") && (isFinite(data22))){
if(data22 > 1024 || isNaN(data22)){
const err49 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
if(data22 < 1 || isNaN(data22)){
const err50 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
let data23 = data20.perPrincipal;
if(!(((typeof data23 == "number") && (!(data23 % 1) && !isNaN(data23))) && (isFinite(data23)))){
const err51 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.perPrincipal.type,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
if((typeof data23 == "number") && (isFinite(data23))){
if(data23 > 1024 || isNaN(data23)){
const err52 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
if(data23 < 1 || isNaN(data23)){
const err53 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
}
else {
const err54 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/type",keyword:"type",params:{type: "object"},schema:schema89.type,parentSchema:schema89,data:data20};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
}
if(data.maxLifetime !== undefined){
let data24 = data.maxLifetime;
if((typeof data24 !== "string") && (!(((typeof data24 == "number") && (!(data24 % 1) && !isNaN(data24))) && (isFinite(data24))))){
const err55 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
if((typeof data24 == "number") && (isFinite(data24))){
if(data24 < 0 || isNaN(data24)){
const err56 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
if(typeof data24 === "string"){
if(!pattern0.test(data24)){
const err57 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
}
}
if(data.tools !== undefined){
if(!(validate53(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate53.errors : vErrors.concat(validate53.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate55(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate57(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate57.errors : vErrors.concat(validate57.errors);
errors = vErrors.length;
}
}
}
else {
const err58 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema105.type,parentSchema:schema105,data};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
validate59.errors = vErrors;
return errors === 0;
}

const schema120 = {"type":"object","additionalProperties":false,"required":["type","url"],"properties":{"type":{"description":"A server reached over HTTP+SSE.","const":"sse","type":"string"},"url":{"description":"Its event stream.","type":"string","pattern":"^https?://[^\\s/?#]+[^\\s#]*$","x-says":"an http or https URL"},"headers":{"type":"object","propertyNames":{"$ref":"#/$defs/headerName"},"additionalProperties":{"type":"string","pattern":"^[^\\u0000\\r\\n]*$","x-says":"a header value on one line","x-secret":true}},"forwardHeaders":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/headerName"}},"maxReply":{"$ref":"#/$defs/size"},"prefix":{"$ref":"#/$defs/prefix"},"enabled":{"$ref":"#/$defs/enabled"},"startupTimeout":{"$ref":"#/$defs/startupTimeout"},"timeout":{"$ref":"#/$defs/timeout"},"limits":{"$ref":"#/$defs/UpstreamLimitsConfig"},"breaker":{"$ref":"#/$defs/breaker"},"retry":{"$ref":"#/$defs/retry"},"onFailure":{"$ref":"#/$defs/onFailure"},"era":{"const":"legacy","type":"string"},"isolation":{"$ref":"#/$defs/isolation"},"cache":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/UpstreamCacheConfig"},"else":{"const":false,"x-says":"a map or false"}},"start":{"$ref":"#/$defs/start"},"idle":{"$ref":"#/$defs/idle"},"pool":{"$ref":"#/$defs/PoolConfig"},"maxLifetime":{"$ref":"#/$defs/maxLifetime"},"tools":{"$ref":"#/$defs/ToolFilterConfig"},"prompts":{"$ref":"#/$defs/FilterConfig"},"resources":{"$ref":"#/$defs/ResourceFilterConfig"}}};

function validate67(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.headers === undefined){
data.headers = {};
}
if(data.maxReply === undefined){
data.maxReply = "16MiB";
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.startupTimeout === undefined){
data.startupTimeout = "30s";
}
if(data.timeout === undefined){
data.timeout = "60s";
}
if(data.limits === undefined){
data.limits = {};
}
if(data.breaker === undefined){
data.breaker = {};
}
if(data.retry === undefined){
data.retry = {};
}
if(data.onFailure === undefined){
data.onFailure = "omit";
}
if(data.era === undefined){
data.era = "legacy";
}
if(data.isolation === undefined){
data.isolation = "shared";
}
if(data.start === undefined){
data.start = "auto";
}
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema120.required,parentSchema:schema120,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.url === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "url"},schema:schema120.required,parentSchema:schema120,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema120.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema120,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema120.properties.type.type,parentSchema:schema120.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if("sse" !== data0){
const err4 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "sse"},schema:"sse",parentSchema:schema120.properties.type,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.url !== undefined){
let data1 = data.url;
if(typeof data1 === "string"){
if(!pattern47.test(data1)){
const err5 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s#]*$"},schema:"^https?://[^\\s/?#]+[^\\s#]*$",parentSchema:schema120.properties.url,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/type",keyword:"type",params:{type: "string"},schema:schema120.properties.url.type,parentSchema:schema120.properties.url,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.headers;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
for(const key1 in data2){
const _errs8 = errors;
if(typeof key1 === "string"){
if(!pattern8.test(key1)){
const err7 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
var valid1 = _errs8 === errors;
if(!valid1){
const err9 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema120.properties.headers.propertyNames,parentSchema:schema120.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
for(const key2 in data2){
let data3 = data2[key2];
if(typeof data3 === "string"){
if(!pattern49.test(data3)){
const err10 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[^\\u0000\\r\\n]*$"},schema:"^[^\\u0000\\r\\n]*$",parentSchema:schema120.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema120.properties.headers.additionalProperties.type,parentSchema:schema120.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/type",keyword:"type",params:{type: "object"},schema:schema120.properties.headers.type,parentSchema:schema120.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data.forwardHeaders !== undefined){
let data4 = data.forwardHeaders;
if(Array.isArray(data4)){
if(data4.length < 1){
const err13 = {instancePath:instancePath+"/forwardHeaders",schemaPath:"#/properties/forwardHeaders/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema120.properties.forwardHeaders,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
if(typeof data5 === "string"){
if(!pattern8.test(data5)){
const err14 = {instancePath:instancePath+"/forwardHeaders/" + i0,schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/forwardHeaders/" + i0,schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath:instancePath+"/forwardHeaders",schemaPath:"#/properties/forwardHeaders/type",keyword:"type",params:{type: "array"},schema:schema120.properties.forwardHeaders.type,parentSchema:schema120.properties.forwardHeaders,data:data4};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
let data6 = data.maxReply;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err17 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err18 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern12.test(data6)){
const err19 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data.prefix !== undefined){
let data7 = data.prefix;
if(typeof data7 === "string"){
if(!pattern22.test(data7)){
const err20 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,64}$"},schema:"^[A-Za-z0-9_.-]{0,64}$",parentSchema:schema51,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/type",keyword:"type",params:{type: "string"},schema:schema51.type,parentSchema:schema51,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
let data8 = data.enabled;
if(typeof data8 !== "boolean"){
const err22 = {instancePath:instancePath+"/enabled",schemaPath:"#/$defs/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema52.type,parentSchema:schema52,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
let data9 = data.startupTimeout;
if((typeof data9 !== "string") && (!(((typeof data9 == "number") && (!(data9 % 1) && !isNaN(data9))) && (isFinite(data9))))){
const err23 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
if((typeof data9 == "number") && (isFinite(data9))){
if(data9 < 0 || isNaN(data9)){
const err24 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(typeof data9 === "string"){
if(!pattern0.test(data9)){
const err25 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
let data10 = data.timeout;
if((typeof data10 !== "string") && (!(((typeof data10 == "number") && (!(data10 % 1) && !isNaN(data10))) && (isFinite(data10))))){
const err26 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
if((typeof data10 == "number") && (isFinite(data10))){
if(data10 < 0 || isNaN(data10)){
const err27 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(typeof data10 === "string"){
if(!pattern0.test(data10)){
const err28 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
if(!(validate31(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate31.errors : vErrors.concat(validate31.errors);
errors = vErrors.length;
}
if(!(validate33(data.breaker, {instancePath:instancePath+"/breaker",parentData:data,parentDataProperty:"breaker",rootData}))){
vErrors = vErrors === null ? validate33.errors : vErrors.concat(validate33.errors);
errors = vErrors.length;
}
if(!(validate37(data.retry, {instancePath:instancePath+"/retry",parentData:data,parentDataProperty:"retry",rootData}))){
vErrors = vErrors === null ? validate37.errors : vErrors.concat(validate37.errors);
errors = vErrors.length;
}
let data14 = data.onFailure;
if(typeof data14 !== "string"){
const err29 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/type",keyword:"type",params:{type: "string"},schema:schema66.type,parentSchema:schema66,data:data14};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
if(!(((data14 === "omit") || (data14 === "keep")) || (data14 === "fail"))){
const err30 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/enum",keyword:"enum",params:{allowedValues: schema66.enum},schema:schema66.enum,parentSchema:schema66,data:data14};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
let data15 = data.era;
if(typeof data15 !== "string"){
const err31 = {instancePath:instancePath+"/era",schemaPath:"#/properties/era/type",keyword:"type",params:{type: "string"},schema:schema120.properties.era.type,parentSchema:schema120.properties.era,data:data15};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
if("legacy" !== data15){
const err32 = {instancePath:instancePath+"/era",schemaPath:"#/properties/era/const",keyword:"const",params:{allowedValue: "legacy"},schema:"legacy",parentSchema:schema120.properties.era,data:data15};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
let data16 = data.isolation;
if(typeof data16 !== "string"){
const err33 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/type",keyword:"type",params:{type: "string"},schema:schema68.type,parentSchema:schema68,data:data16};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
if(!(((data16 === "shared") || (data16 === "session")) || (data16 === "principal"))){
const err34 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/enum",keyword:"enum",params:{allowedValues: schema68.enum},schema:schema68.enum,parentSchema:schema68,data:data16};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
if(data.cache !== undefined){
let data17 = data.cache;
if((!(data17 && typeof data17 == "object" && !Array.isArray(data17))) && (typeof data17 !== "boolean")){
const err35 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/type",keyword:"type",params:{type: schema120.properties.cache.type},schema:schema120.properties.cache.type,parentSchema:schema120.properties.cache,data:data17};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
const _errs47 = errors;
let valid14 = true;
const _errs48 = errors;
if(!(data17 && typeof data17 == "object" && !Array.isArray(data17))){
const err36 = {};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid0 = _errs48 === errors;
errors = _errs47;
if(vErrors !== null){
if(_errs47){
vErrors.length = _errs47;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs50 = errors;
if(!(validate41(data17, {instancePath:instancePath+"/cache",parentData:data,parentDataProperty:"cache",rootData}))){
vErrors = vErrors === null ? validate41.errors : vErrors.concat(validate41.errors);
errors = vErrors.length;
}
var _valid0 = _errs50 === errors;
valid14 = _valid0;
ifClause0 = "then";
}
else {
const _errs51 = errors;
if(false !== data17){
const err37 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema120.properties.cache.else,data:data17};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
var _valid0 = _errs51 === errors;
valid14 = _valid0;
ifClause0 = "else";
}
if(!valid14){
const err38 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema120.properties.cache.if,parentSchema:schema120.properties.cache,data:data17};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
let data18 = data.start;
if(typeof data18 !== "string"){
const err39 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/type",keyword:"type",params:{type: "string"},schema:schema86.type,parentSchema:schema86,data:data18};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
if(!(((data18 === "auto") || (data18 === "lazy")) || (data18 === "eager"))){
const err40 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/enum",keyword:"enum",params:{allowedValues: schema86.enum},schema:schema86.enum,parentSchema:schema86,data:data18};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
if(data.idle !== undefined){
let data19 = data.idle;
if((typeof data19 !== "string") && (!(((typeof data19 == "number") && (!(data19 % 1) && !isNaN(data19))) && (isFinite(data19))))){
const err41 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
if((typeof data19 == "number") && (isFinite(data19))){
if(data19 < 0 || isNaN(data19)){
const err42 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
if(typeof data19 === "string"){
if(!pattern0.test(data19)){
const err43 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data19};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
}
if(data.pool !== undefined){
let data20 = data.pool;
if(data20 && typeof data20 == "object" && !Array.isArray(data20)){
if(data20.min === undefined){
data20.min = 0;
}
if(data20.max === undefined){
data20.max = 64;
}
if(data20.perPrincipal === undefined){
data20.perPrincipal = 16;
}
for(const key3 in data20){
if(!(((key3 === "min") || (key3 === "max")) || (key3 === "perPrincipal"))){
const err44 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema89,data:data20};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
let data21 = data20.min;
if(!(((typeof data21 == "number") && (!(data21 % 1) && !isNaN(data21))) && (isFinite(data21)))){
const err45 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.min.type,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if((typeof data21 == "number") && (isFinite(data21))){
if(data21 > 64 || isNaN(data21)){
const err46 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
if(data21 < 0 || isNaN(data21)){
const err47 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema89.properties.min,data:data21};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
let data22 = data20.max;
if(!(((typeof data22 == "number") && (!(data22 % 1) && !isNaN(data22))) && (isFinite(data22)))){
const err48 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.max.type,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
if((typeof data22 == "number") && (isFinite(data22))){
if(data22 > 1024 || isNaN(data22)){
const err49 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
if(data22 < 1 || isNaN(data22)){
const err50 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.max,data:data22};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
let data23 = data20.perPrincipal;
if(!(((typeof data23 == "number") && (!(data23 % 1) && !isNaN(data23))) && (isFinite(data23)))){
const err51 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.perPrincipal.type,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
if((typeof data23 == "number") && (isFinite(data23))){
if(data23 > 1024 || isNaN(data23)){
const err52 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
if(data23 < 1 || isNaN(data23)){
const err53 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.perPrincipal,data:data23};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
}
else {
const err54 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/type",keyword:"type",params:{type: "object"},schema:schema89.type,parentSchema:schema89,data:data20};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
}
if(data.maxLifetime !== undefined){
let data24 = data.maxLifetime;
if((typeof data24 !== "string") && (!(((typeof data24 == "number") && (!(data24 % 1) && !isNaN(data24))) && (isFinite(data24))))){
const err55 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
if((typeof data24 == "number") && (isFinite(data24))){
if(data24 < 0 || isNaN(data24)){
const err56 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
if(typeof data24 === "string"){
if(!pattern0.test(data24)){
const err57 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data24};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
}
}
if(data.tools !== undefined){
if(!(validate53(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate53.errors : vErrors.concat(validate53.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate55(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate57(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate57.errors : vErrors.concat(validate57.errors);
errors = vErrors.length;
}
}
}
else {
const err58 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema120.type,parentSchema:schema120,data};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
validate67.errors = vErrors;
return errors === 0;
}

const schema134 = {"type":"object","additionalProperties":false,"required":["type","url"],"properties":{"type":{"description":"A server reached over WebSocket.","const":"ws","type":"string"},"url":{"description":"Its MCP endpoint.","type":"string","pattern":"^wss?://[^\\s/?#]+[^\\s#]*$","x-says":"a ws or wss URL"},"headers":{"type":"object","propertyNames":{"$ref":"#/$defs/headerName"},"additionalProperties":{"type":"string","pattern":"^[^\\u0000\\r\\n]*$","x-says":"a header value on one line","x-secret":true}},"maxReply":{"$ref":"#/$defs/size"},"prefix":{"$ref":"#/$defs/prefix"},"enabled":{"$ref":"#/$defs/enabled"},"startupTimeout":{"$ref":"#/$defs/startupTimeout"},"timeout":{"$ref":"#/$defs/timeout"},"limits":{"$ref":"#/$defs/UpstreamLimitsConfig"},"breaker":{"$ref":"#/$defs/breaker"},"retry":{"$ref":"#/$defs/retry"},"onFailure":{"$ref":"#/$defs/onFailure"},"era":{"$ref":"#/$defs/era"},"isolation":{"$ref":"#/$defs/isolation"},"cache":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/UpstreamCacheConfig"},"else":{"const":false,"x-says":"a map or false"}},"start":{"$ref":"#/$defs/start"},"idle":{"$ref":"#/$defs/idle"},"pool":{"$ref":"#/$defs/PoolConfig"},"maxLifetime":{"$ref":"#/$defs/maxLifetime"},"tools":{"$ref":"#/$defs/ToolFilterConfig"},"prompts":{"$ref":"#/$defs/FilterConfig"},"resources":{"$ref":"#/$defs/ResourceFilterConfig"}}};
const pattern67 = new RegExp("^wss?://[^\\s/?#]+[^\\s#]*$", "u");

function validate75(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.headers === undefined){
data.headers = {};
}
if(data.maxReply === undefined){
data.maxReply = "16MiB";
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.startupTimeout === undefined){
data.startupTimeout = "30s";
}
if(data.timeout === undefined){
data.timeout = "60s";
}
if(data.limits === undefined){
data.limits = {};
}
if(data.breaker === undefined){
data.breaker = {};
}
if(data.retry === undefined){
data.retry = {};
}
if(data.onFailure === undefined){
data.onFailure = "omit";
}
if(data.era === undefined){
data.era = "auto";
}
if(data.isolation === undefined){
data.isolation = "shared";
}
if(data.start === undefined){
data.start = "auto";
}
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema134.required,parentSchema:schema134,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.url === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "url"},schema:schema134.required,parentSchema:schema134,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema134.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema134,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.type !== undefined){
let data0 = data.type;
if(typeof data0 !== "string"){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema134.properties.type.type,parentSchema:schema134.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if("ws" !== data0){
const err4 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "ws"},schema:"ws",parentSchema:schema134.properties.type,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.url !== undefined){
let data1 = data.url;
if(typeof data1 === "string"){
if(!pattern67.test(data1)){
const err5 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/pattern",keyword:"pattern",params:{pattern: "^wss?://[^\\s/?#]+[^\\s#]*$"},schema:"^wss?://[^\\s/?#]+[^\\s#]*$",parentSchema:schema134.properties.url,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/url",schemaPath:"#/properties/url/type",keyword:"type",params:{type: "string"},schema:schema134.properties.url.type,parentSchema:schema134.properties.url,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.headers;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
for(const key1 in data2){
const _errs8 = errors;
if(typeof key1 === "string"){
if(!pattern8.test(key1)){
const err7 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/headers",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
var valid1 = _errs8 === errors;
if(!valid1){
const err9 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema134.properties.headers.propertyNames,parentSchema:schema134.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
for(const key2 in data2){
let data3 = data2[key2];
if(typeof data3 === "string"){
if(!pattern49.test(data3)){
const err10 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[^\\u0000\\r\\n]*$"},schema:"^[^\\u0000\\r\\n]*$",parentSchema:schema134.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/headers/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema134.properties.headers.additionalProperties.type,parentSchema:schema134.properties.headers.additionalProperties,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath:instancePath+"/headers",schemaPath:"#/properties/headers/type",keyword:"type",params:{type: "object"},schema:schema134.properties.headers.type,parentSchema:schema134.properties.headers,data:data2};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
let data4 = data.maxReply;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern12.test(data4)){
const err15 = {instancePath:instancePath+"/maxReply",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.prefix !== undefined){
let data5 = data.prefix;
if(typeof data5 === "string"){
if(!pattern22.test(data5)){
const err16 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,64}$"},schema:"^[A-Za-z0-9_.-]{0,64}$",parentSchema:schema51,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
else {
const err17 = {instancePath:instancePath+"/prefix",schemaPath:"#/$defs/prefix/type",keyword:"type",params:{type: "string"},schema:schema51.type,parentSchema:schema51,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
let data6 = data.enabled;
if(typeof data6 !== "boolean"){
const err18 = {instancePath:instancePath+"/enabled",schemaPath:"#/$defs/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema52.type,parentSchema:schema52,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
let data7 = data.startupTimeout;
if((typeof data7 !== "string") && (!(((typeof data7 == "number") && (!(data7 % 1) && !isNaN(data7))) && (isFinite(data7))))){
const err19 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if((typeof data7 == "number") && (isFinite(data7))){
if(data7 < 0 || isNaN(data7)){
const err20 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(typeof data7 === "string"){
if(!pattern0.test(data7)){
const err21 = {instancePath:instancePath+"/startupTimeout",schemaPath:"#/$defs/startupTimeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
let data8 = data.timeout;
if((typeof data8 !== "string") && (!(((typeof data8 == "number") && (!(data8 % 1) && !isNaN(data8))) && (isFinite(data8))))){
const err22 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if((typeof data8 == "number") && (isFinite(data8))){
if(data8 < 0 || isNaN(data8)){
const err23 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data8};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(typeof data8 === "string"){
if(!pattern0.test(data8)){
const err24 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/timeout/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data8};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(!(validate31(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate31.errors : vErrors.concat(validate31.errors);
errors = vErrors.length;
}
if(!(validate33(data.breaker, {instancePath:instancePath+"/breaker",parentData:data,parentDataProperty:"breaker",rootData}))){
vErrors = vErrors === null ? validate33.errors : vErrors.concat(validate33.errors);
errors = vErrors.length;
}
if(!(validate37(data.retry, {instancePath:instancePath+"/retry",parentData:data,parentDataProperty:"retry",rootData}))){
vErrors = vErrors === null ? validate37.errors : vErrors.concat(validate37.errors);
errors = vErrors.length;
}
let data12 = data.onFailure;
if(typeof data12 !== "string"){
const err25 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/type",keyword:"type",params:{type: "string"},schema:schema66.type,parentSchema:schema66,data:data12};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
if(!(((data12 === "omit") || (data12 === "keep")) || (data12 === "fail"))){
const err26 = {instancePath:instancePath+"/onFailure",schemaPath:"#/$defs/onFailure/enum",keyword:"enum",params:{allowedValues: schema66.enum},schema:schema66.enum,parentSchema:schema66,data:data12};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
let data13 = data.era;
if(typeof data13 !== "string"){
const err27 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/type",keyword:"type",params:{type: "string"},schema:schema67.type,parentSchema:schema67,data:data13};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
if(!(((data13 === "auto") || (data13 === "legacy")) || (data13 === "modern"))){
const err28 = {instancePath:instancePath+"/era",schemaPath:"#/$defs/era/enum",keyword:"enum",params:{allowedValues: schema67.enum},schema:schema67.enum,parentSchema:schema67,data:data13};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
let data14 = data.isolation;
if(typeof data14 !== "string"){
const err29 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/type",keyword:"type",params:{type: "string"},schema:schema68.type,parentSchema:schema68,data:data14};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
if(!(((data14 === "shared") || (data14 === "session")) || (data14 === "principal"))){
const err30 = {instancePath:instancePath+"/isolation",schemaPath:"#/$defs/isolation/enum",keyword:"enum",params:{allowedValues: schema68.enum},schema:schema68.enum,parentSchema:schema68,data:data14};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
if(data.cache !== undefined){
let data15 = data.cache;
if((!(data15 && typeof data15 == "object" && !Array.isArray(data15))) && (typeof data15 !== "boolean")){
const err31 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/type",keyword:"type",params:{type: schema134.properties.cache.type},schema:schema134.properties.cache.type,parentSchema:schema134.properties.cache,data:data15};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
const _errs43 = errors;
let valid12 = true;
const _errs44 = errors;
if(!(data15 && typeof data15 == "object" && !Array.isArray(data15))){
const err32 = {};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
var _valid0 = _errs44 === errors;
errors = _errs43;
if(vErrors !== null){
if(_errs43){
vErrors.length = _errs43;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs46 = errors;
if(!(validate41(data15, {instancePath:instancePath+"/cache",parentData:data,parentDataProperty:"cache",rootData}))){
vErrors = vErrors === null ? validate41.errors : vErrors.concat(validate41.errors);
errors = vErrors.length;
}
var _valid0 = _errs46 === errors;
valid12 = _valid0;
ifClause0 = "then";
}
else {
const _errs47 = errors;
if(false !== data15){
const err33 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema134.properties.cache.else,data:data15};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
var _valid0 = _errs47 === errors;
valid12 = _valid0;
ifClause0 = "else";
}
if(!valid12){
const err34 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema134.properties.cache.if,parentSchema:schema134.properties.cache,data:data15};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
let data16 = data.start;
if(typeof data16 !== "string"){
const err35 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/type",keyword:"type",params:{type: "string"},schema:schema86.type,parentSchema:schema86,data:data16};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
if(!(((data16 === "auto") || (data16 === "lazy")) || (data16 === "eager"))){
const err36 = {instancePath:instancePath+"/start",schemaPath:"#/$defs/start/enum",keyword:"enum",params:{allowedValues: schema86.enum},schema:schema86.enum,parentSchema:schema86,data:data16};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
if(data.idle !== undefined){
let data17 = data.idle;
if((typeof data17 !== "string") && (!(((typeof data17 == "number") && (!(data17 % 1) && !isNaN(data17))) && (isFinite(data17))))){
const err37 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data17};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
if((typeof data17 == "number") && (isFinite(data17))){
if(data17 < 0 || isNaN(data17)){
const err38 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data17};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
if(typeof data17 === "string"){
if(!pattern0.test(data17)){
const err39 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/idle/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data17};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
}
}
if(data.pool !== undefined){
let data18 = data.pool;
if(data18 && typeof data18 == "object" && !Array.isArray(data18)){
if(data18.min === undefined){
data18.min = 0;
}
if(data18.max === undefined){
data18.max = 64;
}
if(data18.perPrincipal === undefined){
data18.perPrincipal = 16;
}
for(const key3 in data18){
if(!(((key3 === "min") || (key3 === "max")) || (key3 === "perPrincipal"))){
const err40 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema89,data:data18};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
let data19 = data18.min;
if(!(((typeof data19 == "number") && (!(data19 % 1) && !isNaN(data19))) && (isFinite(data19)))){
const err41 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.min.type,parentSchema:schema89.properties.min,data:data19};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
if((typeof data19 == "number") && (isFinite(data19))){
if(data19 > 64 || isNaN(data19)){
const err42 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema89.properties.min,data:data19};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
if(data19 < 0 || isNaN(data19)){
const err43 = {instancePath:instancePath+"/pool/min",schemaPath:"#/$defs/PoolConfig/properties/min/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema89.properties.min,data:data19};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
let data20 = data18.max;
if(!(((typeof data20 == "number") && (!(data20 % 1) && !isNaN(data20))) && (isFinite(data20)))){
const err44 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.max.type,parentSchema:schema89.properties.max,data:data20};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
if((typeof data20 == "number") && (isFinite(data20))){
if(data20 > 1024 || isNaN(data20)){
const err45 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.max,data:data20};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
if(data20 < 1 || isNaN(data20)){
const err46 = {instancePath:instancePath+"/pool/max",schemaPath:"#/$defs/PoolConfig/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.max,data:data20};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
let data21 = data18.perPrincipal;
if(!(((typeof data21 == "number") && (!(data21 % 1) && !isNaN(data21))) && (isFinite(data21)))){
const err47 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/type",keyword:"type",params:{type: "integer"},schema:schema89.properties.perPrincipal.type,parentSchema:schema89.properties.perPrincipal,data:data21};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
if((typeof data21 == "number") && (isFinite(data21))){
if(data21 > 1024 || isNaN(data21)){
const err48 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1024},schema:1024,parentSchema:schema89.properties.perPrincipal,data:data21};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
if(data21 < 1 || isNaN(data21)){
const err49 = {instancePath:instancePath+"/pool/perPrincipal",schemaPath:"#/$defs/PoolConfig/properties/perPrincipal/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema89.properties.perPrincipal,data:data21};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
}
else {
const err50 = {instancePath:instancePath+"/pool",schemaPath:"#/$defs/PoolConfig/type",keyword:"type",params:{type: "object"},schema:schema89.type,parentSchema:schema89,data:data18};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
if(data.maxLifetime !== undefined){
let data22 = data.maxLifetime;
if((typeof data22 !== "string") && (!(((typeof data22 == "number") && (!(data22 % 1) && !isNaN(data22))) && (isFinite(data22))))){
const err51 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data22};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
if((typeof data22 == "number") && (isFinite(data22))){
if(data22 < 0 || isNaN(data22)){
const err52 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data22};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(typeof data22 === "string"){
if(!pattern0.test(data22)){
const err53 = {instancePath:instancePath+"/maxLifetime",schemaPath:"#/$defs/maxLifetime/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data22};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
}
if(data.tools !== undefined){
if(!(validate53(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate53.errors : vErrors.concat(validate53.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate55(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate57(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate57.errors : vErrors.concat(validate57.errors);
errors = vErrors.length;
}
}
}
else {
const err54 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema134.type,parentSchema:schema134,data};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
validate75.errors = vErrors;
return errors === 0;
}


function validate27(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.type === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "type"},schema:schema43.required,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "stdio"){
if(!(validate28(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate28.errors : vErrors.concat(validate28.errors);
errors = vErrors.length;
}
}
else if(tag0 === "http"){
if(!(validate59(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate59.errors : vErrors.concat(validate59.errors);
errors = vErrors.length;
}
}
else if(tag0 === "sse"){
if(!(validate67(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
else if(tag0 === "ws"){
if(!(validate75(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate75.errors : vErrors.concat(validate75.errors);
errors = vErrors.length;
}
}
else {
const err1 = {instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},schema:schema43.discriminator,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},schema:schema43.discriminator,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema43.type,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate27.errors = vErrors;
return errors === 0;
}

const schema148 = {"type":"object","additionalProperties":false,"required":["upstreams"],"properties":{"header":{"$ref":"#/$defs/headerName"},"upstreams":{"description":"HTTP upstreams that get it.","type":"array","minItems":1,"items":{"type":"string"}}}};

function validate88(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.header === undefined){
data.header = "X-Session-ID";
}
if(data.upstreams === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "upstreams"},schema:schema148.required,parentSchema:schema148,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((key0 === "header") || (key0 === "upstreams"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema148,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
let data0 = data.header;
if(typeof data0 === "string"){
if(!pattern8.test(data0)){
const err2 = {instancePath:instancePath+"/header",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/header",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data.upstreams !== undefined){
let data1 = data.upstreams;
if(Array.isArray(data1)){
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/upstreams",schemaPath:"#/properties/upstreams/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema148.properties.upstreams,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
const len0 = data1.length;
for(let i0=0; i0<len0; i0++){
let data2 = data1[i0];
if(typeof data2 !== "string"){
const err5 = {instancePath:instancePath+"/upstreams/" + i0,schemaPath:"#/properties/upstreams/items/type",keyword:"type",params:{type: "string"},schema:schema148.properties.upstreams.items.type,parentSchema:schema148.properties.upstreams.items,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/upstreams",schemaPath:"#/properties/upstreams/type",keyword:"type",params:{type: "array"},schema:schema148.properties.upstreams.type,parentSchema:schema148.properties.upstreams,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema148.type,parentSchema:schema148,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate88.errors = vErrors;
return errors === 0;
}

const schema150 = {"type":"object","additionalProperties":false,"properties":{"file":{"x-private":"file","type":"string","minLength":1},"maxSize":{"$ref":"#/$defs/size"},"keep":{"type":"integer","minimum":0,"maximum":1000},"methods":{"$ref":"#/$defs/globs"},"values":{"$ref":"#/$defs/globs"},"sessions":{"enum":["hash","plain"],"type":"string"},"chain":{"type":"boolean"},"onFailure":{"enum":["continue","refuse"],"type":"string"}}};
const schema152 = {"x-globs":true,"type":["string","array"],"minLength":1,"minItems":1,"items":{"type":"string","minLength":1}};

function validate90(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.maxSize === undefined){
data.maxSize = "64MiB";
}
if(data.keep === undefined){
data.keep = 5;
}
if(data.methods === undefined){
data.methods = ["tools/call","prompts/get","resources/read","resources/subscribe","tasks/{update,cancel}"];
}
if(data.sessions === undefined){
data.sessions = "hash";
}
if(data.chain === undefined){
data.chain = false;
}
if(data.onFailure === undefined){
data.onFailure = "continue";
}
for(const key0 in data){
if(!((((((((key0 === "file") || (key0 === "maxSize")) || (key0 === "keep")) || (key0 === "methods")) || (key0 === "values")) || (key0 === "sessions")) || (key0 === "chain")) || (key0 === "onFailure"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema150,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.file !== undefined){
let data0 = data.file;
if(typeof data0 === "string"){
if(data0.length < 1){
const err1 = {instancePath:instancePath+"/file",schemaPath:"#/properties/file/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema150.properties.file,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/file",schemaPath:"#/properties/file/type",keyword:"type",params:{type: "string"},schema:schema150.properties.file.type,parentSchema:schema150.properties.file,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
let data1 = data.maxSize;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err3 = {instancePath:instancePath+"/maxSize",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err4 = {instancePath:instancePath+"/maxSize",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern12.test(data1)){
const err5 = {instancePath:instancePath+"/maxSize",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
let data2 = data.keep;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err6 = {instancePath:instancePath+"/keep",schemaPath:"#/properties/keep/type",keyword:"type",params:{type: "integer"},schema:schema150.properties.keep.type,parentSchema:schema150.properties.keep,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 1000 || isNaN(data2)){
const err7 = {instancePath:instancePath+"/keep",schemaPath:"#/properties/keep/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema150.properties.keep,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/keep",schemaPath:"#/properties/keep/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema150.properties.keep,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
let data3 = data.methods;
if((typeof data3 !== "string") && (!(Array.isArray(data3)))){
const err9 = {instancePath:instancePath+"/methods",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(typeof data3 === "string"){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/methods",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(Array.isArray(data3)){
if(data3.length < 1){
const err11 = {instancePath:instancePath+"/methods",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
if(typeof data4 === "string"){
if(data4.length < 1){
const err12 = {instancePath:instancePath+"/methods/" + i0,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/methods/" + i0,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
if(data.values !== undefined){
let data5 = data.values;
if((typeof data5 !== "string") && (!(Array.isArray(data5)))){
const err14 = {instancePath:instancePath+"/values",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
if(typeof data5 === "string"){
if(data5.length < 1){
const err15 = {instancePath:instancePath+"/values",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(Array.isArray(data5)){
if(data5.length < 1){
const err16 = {instancePath:instancePath+"/values",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
const len1 = data5.length;
for(let i1=0; i1<len1; i1++){
let data6 = data5[i1];
if(typeof data6 === "string"){
if(data6.length < 1){
const err17 = {instancePath:instancePath+"/values/" + i1,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/values/" + i1,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
}
let data7 = data.sessions;
if(typeof data7 !== "string"){
const err19 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/type",keyword:"type",params:{type: "string"},schema:schema150.properties.sessions.type,parentSchema:schema150.properties.sessions,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if(!((data7 === "hash") || (data7 === "plain"))){
const err20 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/enum",keyword:"enum",params:{allowedValues: schema150.properties.sessions.enum},schema:schema150.properties.sessions.enum,parentSchema:schema150.properties.sessions,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
let data8 = data.chain;
if(typeof data8 !== "boolean"){
const err21 = {instancePath:instancePath+"/chain",schemaPath:"#/properties/chain/type",keyword:"type",params:{type: "boolean"},schema:schema150.properties.chain.type,parentSchema:schema150.properties.chain,data:data8};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
let data9 = data.onFailure;
if(typeof data9 !== "string"){
const err22 = {instancePath:instancePath+"/onFailure",schemaPath:"#/properties/onFailure/type",keyword:"type",params:{type: "string"},schema:schema150.properties.onFailure.type,parentSchema:schema150.properties.onFailure,data:data9};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(!((data9 === "continue") || (data9 === "refuse"))){
const err23 = {instancePath:instancePath+"/onFailure",schemaPath:"#/properties/onFailure/enum",keyword:"enum",params:{allowedValues: schema150.properties.onFailure.enum},schema:schema150.properties.onFailure.enum,parentSchema:schema150.properties.onFailure,data:data9};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema150.type,parentSchema:schema150,data};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
validate90.errors = vErrors;
return errors === 0;
}

const schema156 = {"type":"object","additionalProperties":false,"properties":{"upstreams":{"type":"array","items":{"type":"string"}},"tools":{"$ref":"#/$defs/ProfileFilterConfig"},"prompts":{"$ref":"#/$defs/ProfileFilterConfig"},"resources":{"$ref":"#/$defs/ProfileFilterConfig"},"prefixes":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/prefix"}},"eras":{"enum":["auto","both","legacy"],"type":"string"},"instructions":{"type":"string"},"principals":{"$ref":"#/$defs/globList"}}};
const schema157 = {"type":"object","additionalProperties":false,"properties":{"allow":{"$ref":"#/$defs/allow"},"deny":{"$ref":"#/$defs/deny"}}};

function validate93(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((key0 === "allow") || (key0 === "deny"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.allow !== undefined){
let data0 = data.allow;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err1 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/allow/" + i0,schemaPath:"#/$defs/allow/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
else {
const err3 = {instancePath:instancePath+"/allow",schemaPath:"#/$defs/allow/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.deny !== undefined){
let data2 = data.deny;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err4 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/deny/" + i1,schemaPath:"#/$defs/deny/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/deny/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema157.type,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate93.errors = vErrors;
return errors === 0;
}

const pattern6 = new RegExp("^[a-z][a-z0-9-]{0,31}$", "u");

function validate92(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((((key0 === "upstreams") || (key0 === "tools")) || (key0 === "prompts")) || (key0 === "resources")) || (key0 === "prefixes")) || (key0 === "eras")) || (key0 === "instructions")) || (key0 === "principals"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema156,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.upstreams !== undefined){
let data0 = data.upstreams;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 !== "string"){
const err1 = {instancePath:instancePath+"/upstreams/" + i0,schemaPath:"#/properties/upstreams/items/type",keyword:"type",params:{type: "string"},schema:schema156.properties.upstreams.items.type,parentSchema:schema156.properties.upstreams.items,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
}
else {
const err2 = {instancePath:instancePath+"/upstreams",schemaPath:"#/properties/upstreams/type",keyword:"type",params:{type: "array"},schema:schema156.properties.upstreams.type,parentSchema:schema156.properties.upstreams,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.tools !== undefined){
if(!(validate93(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate93.errors : vErrors.concat(validate93.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate93(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate93.errors : vErrors.concat(validate93.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate93(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate93.errors : vErrors.concat(validate93.errors);
errors = vErrors.length;
}
}
if(data.prefixes !== undefined){
let data5 = data.prefixes;
if(data5 && typeof data5 == "object" && !Array.isArray(data5)){
for(const key1 in data5){
const _errs11 = errors;
if(typeof key1 === "string"){
if(!pattern6.test(key1)){
const err3 = {instancePath:instancePath+"/prefixes",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/prefixes",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
var valid3 = _errs11 === errors;
if(!valid3){
const err5 = {instancePath:instancePath+"/prefixes",schemaPath:"#/properties/prefixes/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema156.properties.prefixes.propertyNames,parentSchema:schema156.properties.prefixes,data:data5};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
for(const key2 in data5){
let data6 = data5[key2];
if(typeof data6 === "string"){
if(!pattern22.test(data6)){
const err6 = {instancePath:instancePath+"/prefixes/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,64}$"},schema:"^[A-Za-z0-9_.-]{0,64}$",parentSchema:schema51,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/prefixes/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/prefix/type",keyword:"type",params:{type: "string"},schema:schema51.type,parentSchema:schema51,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/prefixes",schemaPath:"#/properties/prefixes/type",keyword:"type",params:{type: "object"},schema:schema156.properties.prefixes.type,parentSchema:schema156.properties.prefixes,data:data5};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.eras !== undefined){
let data7 = data.eras;
if(typeof data7 !== "string"){
const err9 = {instancePath:instancePath+"/eras",schemaPath:"#/properties/eras/type",keyword:"type",params:{type: "string"},schema:schema156.properties.eras.type,parentSchema:schema156.properties.eras,data:data7};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(!(((data7 === "auto") || (data7 === "both")) || (data7 === "legacy"))){
const err10 = {instancePath:instancePath+"/eras",schemaPath:"#/properties/eras/enum",keyword:"enum",params:{allowedValues: schema156.properties.eras.enum},schema:schema156.properties.eras.enum,parentSchema:schema156.properties.eras,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.instructions !== undefined){
let data8 = data.instructions;
if(typeof data8 !== "string"){
const err11 = {instancePath:instancePath+"/instructions",schemaPath:"#/properties/instructions/type",keyword:"type",params:{type: "string"},schema:schema156.properties.instructions.type,parentSchema:schema156.properties.instructions,data:data8};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.principals !== undefined){
let data9 = data.principals;
if(Array.isArray(data9)){
const len1 = data9.length;
for(let i1=0; i1<len1; i1++){
let data10 = data9[i1];
if(typeof data10 === "string"){
if(data10.length < 1){
const err12 = {instancePath:instancePath+"/principals/" + i1,schemaPath:"#/$defs/globList/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema65.items,data:data10};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/principals/" + i1,schemaPath:"#/$defs/globList/items/type",keyword:"type",params:{type: "string"},schema:schema65.items.type,parentSchema:schema65.items,data:data10};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globList/type",keyword:"type",params:{type: "array"},schema:schema65.type,parentSchema:schema65,data:data9};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema156.type,parentSchema:schema156,data};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
validate92.errors = vErrors;
return errors === 0;
}

const schema164 = {"type":"object","additionalProperties":false,"properties":{"lists":{"$ref":"#/$defs/cacheTimes"},"resources":{"$ref":"#/$defs/cacheTimes"},"prompts":{"$ref":"#/$defs/cacheTimes"},"tools":{"$ref":"#/$defs/cacheTools"},"negative":{"$ref":"#/$defs/duration"},"maxEntries":{"type":"integer","minimum":1,"maximum":10000000},"maxBytes":{"$ref":"#/$defs/size"},"meta":{"type":"boolean"}}};

function validate98(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.lists === undefined){
data.lists = "5m";
}
if(data.negative === undefined){
data.negative = "2s";
}
if(data.maxEntries === undefined){
data.maxEntries = 10000;
}
if(data.maxBytes === undefined){
data.maxBytes = "64MiB";
}
if(data.meta === undefined){
data.meta = false;
}
for(const key0 in data){
if(!((((((((key0 === "lists") || (key0 === "resources")) || (key0 === "prompts")) || (key0 === "tools")) || (key0 === "negative")) || (key0 === "maxEntries")) || (key0 === "maxBytes")) || (key0 === "meta"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema164,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(!(validate42(data.lists, {instancePath:instancePath+"/lists",parentData:data,parentDataProperty:"lists",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
if(data.resources !== undefined){
if(!(validate42(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate42(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate42.errors : vErrors.concat(validate42.errors);
errors = vErrors.length;
}
}
if(data.tools !== undefined){
if(!(validate48(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate48.errors : vErrors.concat(validate48.errors);
errors = vErrors.length;
}
}
let data4 = data.negative;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err1 = {instancePath:instancePath+"/negative",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err2 = {instancePath:instancePath+"/negative",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern0.test(data4)){
const err3 = {instancePath:instancePath+"/negative",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data5 = data.maxEntries;
if(!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5)))){
const err4 = {instancePath:instancePath+"/maxEntries",schemaPath:"#/properties/maxEntries/type",keyword:"type",params:{type: "integer"},schema:schema164.properties.maxEntries.type,parentSchema:schema164.properties.maxEntries,data:data5};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data5 == "number") && (isFinite(data5))){
if(data5 > 10000000 || isNaN(data5)){
const err5 = {instancePath:instancePath+"/maxEntries",schemaPath:"#/properties/maxEntries/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000000},schema:10000000,parentSchema:schema164.properties.maxEntries,data:data5};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data5 < 1 || isNaN(data5)){
const err6 = {instancePath:instancePath+"/maxEntries",schemaPath:"#/properties/maxEntries/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema164.properties.maxEntries,data:data5};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data6 = data.maxBytes;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err7 = {instancePath:instancePath+"/maxBytes",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err8 = {instancePath:instancePath+"/maxBytes",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern12.test(data6)){
const err9 = {instancePath:instancePath+"/maxBytes",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
let data7 = data.meta;
if(typeof data7 !== "boolean"){
const err10 = {instancePath:instancePath+"/meta",schemaPath:"#/properties/meta/type",keyword:"type",params:{type: "boolean"},schema:schema164.properties.meta.type,parentSchema:schema164.properties.meta,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema164.type,parentSchema:schema164,data};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
validate98.errors = vErrors;
return errors === 0;
}

const schema167 = {"type":"object","additionalProperties":false,"oneOf":[{"required":["to"]},{"required":["deny"]}],"x-says":"a route has either \"to\" or \"deny\"","properties":{"match":{"$ref":"#/$defs/RouteMatch"},"to":{"type":"string"},"deny":{"type":"string","minLength":1}}};
const schema168 = {"type":"object","additionalProperties":false,"properties":{"tool":{"$ref":"#/$defs/globs"},"prompt":{"$ref":"#/$defs/globs"},"resource":{"$ref":"#/$defs/globs"},"method":{"$ref":"#/$defs/globs"},"client":{"$ref":"#/$defs/globs"},"principal":{"$ref":"#/$defs/globs"}}};

function validate105(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "tool") || (key0 === "prompt")) || (key0 === "resource")) || (key0 === "method")) || (key0 === "client")) || (key0 === "principal"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.tool !== undefined){
let data0 = data.tool;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.prompt !== undefined){
let data2 = data.prompt;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
const err6 = {instancePath:instancePath+"/prompt",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(typeof data2 === "string"){
if(data2.length < 1){
const err7 = {instancePath:instancePath+"/prompt",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(Array.isArray(data2)){
if(data2.length < 1){
const err8 = {instancePath:instancePath+"/prompt",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err9 = {instancePath:instancePath+"/prompt/" + i1,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/prompt/" + i1,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
}
if(data.resource !== undefined){
let data4 = data.resource;
if((typeof data4 !== "string") && (!(Array.isArray(data4)))){
const err11 = {instancePath:instancePath+"/resource",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(typeof data4 === "string"){
if(data4.length < 1){
const err12 = {instancePath:instancePath+"/resource",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(Array.isArray(data4)){
if(data4.length < 1){
const err13 = {instancePath:instancePath+"/resource",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
const len2 = data4.length;
for(let i2=0; i2<len2; i2++){
let data5 = data4[i2];
if(typeof data5 === "string"){
if(data5.length < 1){
const err14 = {instancePath:instancePath+"/resource/" + i2,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/resource/" + i2,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
}
if(data.method !== undefined){
let data6 = data.method;
if((typeof data6 !== "string") && (!(Array.isArray(data6)))){
const err16 = {instancePath:instancePath+"/method",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if(typeof data6 === "string"){
if(data6.length < 1){
const err17 = {instancePath:instancePath+"/method",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(Array.isArray(data6)){
if(data6.length < 1){
const err18 = {instancePath:instancePath+"/method",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
const len3 = data6.length;
for(let i3=0; i3<len3; i3++){
let data7 = data6[i3];
if(typeof data7 === "string"){
if(data7.length < 1){
const err19 = {instancePath:instancePath+"/method/" + i3,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
else {
const err20 = {instancePath:instancePath+"/method/" + i3,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
}
if(data.client !== undefined){
let data8 = data.client;
if((typeof data8 !== "string") && (!(Array.isArray(data8)))){
const err21 = {instancePath:instancePath+"/client",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
if(typeof data8 === "string"){
if(data8.length < 1){
const err22 = {instancePath:instancePath+"/client",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
if(Array.isArray(data8)){
if(data8.length < 1){
const err23 = {instancePath:instancePath+"/client",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
const len4 = data8.length;
for(let i4=0; i4<len4; i4++){
let data9 = data8[i4];
if(typeof data9 === "string"){
if(data9.length < 1){
const err24 = {instancePath:instancePath+"/client/" + i4,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data9};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
else {
const err25 = {instancePath:instancePath+"/client/" + i4,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
}
}
if(data.principal !== undefined){
let data10 = data.principal;
if((typeof data10 !== "string") && (!(Array.isArray(data10)))){
const err26 = {instancePath:instancePath+"/principal",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
if(typeof data10 === "string"){
if(data10.length < 1){
const err27 = {instancePath:instancePath+"/principal",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(Array.isArray(data10)){
if(data10.length < 1){
const err28 = {instancePath:instancePath+"/principal",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
const len5 = data10.length;
for(let i5=0; i5<len5; i5++){
let data11 = data10[i5];
if(typeof data11 === "string"){
if(data11.length < 1){
const err29 = {instancePath:instancePath+"/principal/" + i5,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data11};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
else {
const err30 = {instancePath:instancePath+"/principal/" + i5,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data11};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
}
}
}
else {
const err31 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema168.type,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
validate105.errors = vErrors;
return errors === 0;
}


function validate104(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs1 = errors;
let valid0 = false;
let passing0 = null;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.to === undefined){
const err0 = {instancePath,schemaPath:"#/oneOf/0/required",keyword:"required",params:{missingProperty: "to"},schema:schema167.oneOf[0].required,parentSchema:schema167.oneOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
var _valid0 = _errs2 === errors;
if(_valid0){
valid0 = true;
passing0 = 0;
}
const _errs3 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.deny === undefined){
const err1 = {instancePath,schemaPath:"#/oneOf/1/required",keyword:"required",params:{missingProperty: "deny"},schema:schema167.oneOf[1].required,parentSchema:schema167.oneOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
if(_valid0 && valid0){
valid0 = false;
passing0 = [passing0, 1];
}
else {
if(_valid0){
valid0 = true;
passing0 = 1;
}
}
if(!valid0){
const err2 = {instancePath,schemaPath:"#/oneOf",keyword:"oneOf",params:{passingSchemas: passing0},schema:schema167.oneOf,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
else {
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.match === undefined){
data.match = {};
}
for(const key0 in data){
if(!(((key0 === "match") || (key0 === "to")) || (key0 === "deny"))){
const err3 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(!(validate105(data.match, {instancePath:instancePath+"/match",parentData:data,parentDataProperty:"match",rootData}))){
vErrors = vErrors === null ? validate105.errors : vErrors.concat(validate105.errors);
errors = vErrors.length;
}
if(data.to !== undefined){
let data1 = data.to;
if(typeof data1 !== "string"){
const err4 = {instancePath:instancePath+"/to",schemaPath:"#/properties/to/type",keyword:"type",params:{type: "string"},schema:schema167.properties.to.type,parentSchema:schema167.properties.to,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.deny !== undefined){
let data2 = data.deny;
if(typeof data2 === "string"){
if(data2.length < 1){
const err5 = {instancePath:instancePath+"/deny",schemaPath:"#/properties/deny/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema167.properties.deny,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/properties/deny/type",keyword:"type",params:{type: "string"},schema:schema167.properties.deny.type,parentSchema:schema167.properties.deny,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema167.type,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate104.errors = vErrors;
return errors === 0;
}

const schema175 = {"type":"object","additionalProperties":false,"properties":{"tools":{"$ref":"#/$defs/FilterConfig"},"prompts":{"$ref":"#/$defs/FilterConfig"},"resources":{"$ref":"#/$defs/ResourceFilterConfig"}}};

function validate108(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((key0 === "tools") || (key0 === "prompts")) || (key0 === "resources"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema175,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.tools !== undefined){
if(!(validate55(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate55(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData}))){
vErrors = vErrors === null ? validate55.errors : vErrors.concat(validate55.errors);
errors = vErrors.length;
}
}
if(data.resources !== undefined){
if(!(validate57(data.resources, {instancePath:instancePath+"/resources",parentData:data,parentDataProperty:"resources",rootData}))){
vErrors = vErrors === null ? validate57.errors : vErrors.concat(validate57.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema175.type,parentSchema:schema175,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
validate108.errors = vErrors;
return errors === 0;
}

const schema176 = {"type":"object","additionalProperties":false,"anyOf":[{"required":["keys"]},{"required":["keysFile"]},{"required":["jwt"]}],"x-says":"auth needs \"keys\", \"keysFile\" or \"jwt\"","properties":{"keys":{"type":"array","maxItems":1000,"items":{"$ref":"#/$defs/ApiKeyConfig"}},"keysFile":{"x-private":"file","type":"string","minLength":1},"keyHeader":{"$ref":"#/$defs/headerName"},"jwt":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/JwtIssuerConfig"}},"resource":{"type":"string","pattern":"^https?://[^\\s#?]+$","x-says":"an http or https URL without query and fragment"},"listeners":{"type":"array","minItems":1,"items":{"type":"string"}},"except":{"type":"array","items":{"type":"string","pattern":"^/[^\\s?#]*$","x-says":"a path that begins with a slash"}},"rules":{"type":"array","items":{"$ref":"#/$defs/AccessRuleConfig"}}}};
const schema177 = {"type":"object","additionalProperties":false,"required":["name","hash"],"properties":{"name":{"description":"Name of the key.","type":"string","pattern":"^[^\\s]{1,64}$","x-says":"a name of at most 64 characters without spaces"},"hash":{"description":"SHA-256 of the key. The key itself is stored nowhere.","type":"string","pattern":"^sha256:[0-9a-f]{64}$","x-says":"sha256: and 64 hexadecimal digits, as gateway key new prints it"},"scopes":{"type":"array","items":{"$ref":"#/$defs/scope"}},"principal":{"type":"string","minLength":1,"maxLength":256}}};
const schema178 = {"type":"string","pattern":"^[!#-\\[\\]-~]{1,128}$","x-says":"a scope: no spaces, quotes or backslashes"};
const pattern85 = new RegExp("^[^\\s]{1,64}$", "u");
const pattern86 = new RegExp("^sha256:[0-9a-f]{64}$", "u");
const pattern87 = new RegExp("^[!#-\\[\\]-~]{1,128}$", "u");

function validate114(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.scopes === undefined){
data.scopes = [];
}
if(data.name === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "name"},schema:schema177.required,parentSchema:schema177,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.hash === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "hash"},schema:schema177.required,parentSchema:schema177,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "name") || (key0 === "hash")) || (key0 === "scopes")) || (key0 === "principal"))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema177,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.name !== undefined){
let data0 = data.name;
if(typeof data0 === "string"){
if(!pattern85.test(data0)){
const err3 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/pattern",keyword:"pattern",params:{pattern: "^[^\\s]{1,64}$"},schema:"^[^\\s]{1,64}$",parentSchema:schema177.properties.name,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},schema:schema177.properties.name.type,parentSchema:schema177.properties.name,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.hash !== undefined){
let data1 = data.hash;
if(typeof data1 === "string"){
if(!pattern86.test(data1)){
const err5 = {instancePath:instancePath+"/hash",schemaPath:"#/properties/hash/pattern",keyword:"pattern",params:{pattern: "^sha256:[0-9a-f]{64}$"},schema:"^sha256:[0-9a-f]{64}$",parentSchema:schema177.properties.hash,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/hash",schemaPath:"#/properties/hash/type",keyword:"type",params:{type: "string"},schema:schema177.properties.hash.type,parentSchema:schema177.properties.hash,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
let data2 = data.scopes;
if(Array.isArray(data2)){
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 === "string"){
if(!pattern87.test(data3)){
const err7 = {instancePath:instancePath+"/scopes/" + i0,schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]{1,128}$"},schema:"^[!#-\\[\\]-~]{1,128}$",parentSchema:schema178,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/scopes/" + i0,schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: "string"},schema:schema178.type,parentSchema:schema178,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/type",keyword:"type",params:{type: "array"},schema:schema177.properties.scopes.type,parentSchema:schema177.properties.scopes,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data.principal !== undefined){
let data4 = data.principal;
if(typeof data4 === "string"){
if(data4.length > 256){
const err10 = {instancePath:instancePath+"/principal",schemaPath:"#/properties/principal/maxLength",keyword:"maxLength",params:{limit: 256},schema:256,parentSchema:schema177.properties.principal,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data4.length < 1){
const err11 = {instancePath:instancePath+"/principal",schemaPath:"#/properties/principal/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema177.properties.principal,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/principal",schemaPath:"#/properties/principal/type",keyword:"type",params:{type: "string"},schema:schema177.properties.principal.type,parentSchema:schema177.properties.principal,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema177.type,parentSchema:schema177,data};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
validate114.errors = vErrors;
return errors === 0;
}

const schema180 = {"type":"object","additionalProperties":false,"required":["issuer","jwks"],"properties":{"issuer":{"description":"Its `iss`, to the letter.","type":"string","minLength":1},"jwks":{"description":"Its public keys: an https URL (http on loopback), or a file relative to the configuration.","type":"string","minLength":1},"audience":{"type":"array","minItems":1,"items":{"type":"string","minLength":1}},"algorithms":{"type":"array","minItems":1,"items":{"enum":["RS256","RS384","RS512","PS256","PS384","PS512","ES256","ES384","ES512","EdDSA","Ed25519"]}},"leeway":{"$ref":"#/$defs/duration"},"maxAge":{"$ref":"#/$defs/duration"},"requires":{"type":"array","items":{"type":"string","minLength":1}},"type":{"type":"string","minLength":1}}};

function validate116(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.algorithms === undefined){
data.algorithms = ["RS256","PS256","ES256","EdDSA","Ed25519"];
}
if(data.leeway === undefined){
data.leeway = "30s";
}
if(data.requires === undefined){
data.requires = [];
}
if(data.issuer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "issuer"},schema:schema180.required,parentSchema:schema180,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.jwks === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "jwks"},schema:schema180.required,parentSchema:schema180,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((((((((key0 === "issuer") || (key0 === "jwks")) || (key0 === "audience")) || (key0 === "algorithms")) || (key0 === "leeway")) || (key0 === "maxAge")) || (key0 === "requires")) || (key0 === "type"))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema180,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.issuer !== undefined){
let data0 = data.issuer;
if(typeof data0 === "string"){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/issuer",schemaPath:"#/properties/issuer/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema180.properties.issuer,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/issuer",schemaPath:"#/properties/issuer/type",keyword:"type",params:{type: "string"},schema:schema180.properties.issuer.type,parentSchema:schema180.properties.issuer,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.jwks !== undefined){
let data1 = data.jwks;
if(typeof data1 === "string"){
if(data1.length < 1){
const err5 = {instancePath:instancePath+"/jwks",schemaPath:"#/properties/jwks/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema180.properties.jwks,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/jwks",schemaPath:"#/properties/jwks/type",keyword:"type",params:{type: "string"},schema:schema180.properties.jwks.type,parentSchema:schema180.properties.jwks,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.audience !== undefined){
let data2 = data.audience;
if(Array.isArray(data2)){
if(data2.length < 1){
const err7 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema180.properties.audience,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 === "string"){
if(data3.length < 1){
const err8 = {instancePath:instancePath+"/audience/" + i0,schemaPath:"#/properties/audience/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema180.properties.audience.items,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/audience/" + i0,schemaPath:"#/properties/audience/items/type",keyword:"type",params:{type: "string"},schema:schema180.properties.audience.items.type,parentSchema:schema180.properties.audience.items,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/type",keyword:"type",params:{type: "array"},schema:schema180.properties.audience.type,parentSchema:schema180.properties.audience,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
let data4 = data.algorithms;
if(Array.isArray(data4)){
if(data4.length < 1){
const err11 = {instancePath:instancePath+"/algorithms",schemaPath:"#/properties/algorithms/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema180.properties.algorithms,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len1 = data4.length;
for(let i1=0; i1<len1; i1++){
let data5 = data4[i1];
if(!(((((((((((data5 === "RS256") || (data5 === "RS384")) || (data5 === "RS512")) || (data5 === "PS256")) || (data5 === "PS384")) || (data5 === "PS512")) || (data5 === "ES256")) || (data5 === "ES384")) || (data5 === "ES512")) || (data5 === "EdDSA")) || (data5 === "Ed25519"))){
const err12 = {instancePath:instancePath+"/algorithms/" + i1,schemaPath:"#/properties/algorithms/items/enum",keyword:"enum",params:{allowedValues: schema180.properties.algorithms.items.enum},schema:schema180.properties.algorithms.items.enum,parentSchema:schema180.properties.algorithms.items,data:data5};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/algorithms",schemaPath:"#/properties/algorithms/type",keyword:"type",params:{type: "array"},schema:schema180.properties.algorithms.type,parentSchema:schema180.properties.algorithms,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
let data6 = data.leeway;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err14 = {instancePath:instancePath+"/leeway",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data6};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err15 = {instancePath:instancePath+"/leeway",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data6};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern0.test(data6)){
const err16 = {instancePath:instancePath+"/leeway",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data.maxAge !== undefined){
let data7 = data.maxAge;
if((typeof data7 !== "string") && (!(((typeof data7 == "number") && (!(data7 % 1) && !isNaN(data7))) && (isFinite(data7))))){
const err17 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if((typeof data7 == "number") && (isFinite(data7))){
if(data7 < 0 || isNaN(data7)){
const err18 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(typeof data7 === "string"){
if(!pattern0.test(data7)){
const err19 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
}
let data8 = data.requires;
if(Array.isArray(data8)){
const len2 = data8.length;
for(let i2=0; i2<len2; i2++){
let data9 = data8[i2];
if(typeof data9 === "string"){
if(data9.length < 1){
const err20 = {instancePath:instancePath+"/requires/" + i2,schemaPath:"#/properties/requires/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema180.properties.requires.items,data:data9};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/requires/" + i2,schemaPath:"#/properties/requires/items/type",keyword:"type",params:{type: "string"},schema:schema180.properties.requires.items.type,parentSchema:schema180.properties.requires.items,data:data9};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
else {
const err22 = {instancePath:instancePath+"/requires",schemaPath:"#/properties/requires/type",keyword:"type",params:{type: "array"},schema:schema180.properties.requires.type,parentSchema:schema180.properties.requires,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(data.type !== undefined){
let data10 = data.type;
if(typeof data10 === "string"){
if(data10.length < 1){
const err23 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema180.properties.type,data:data10};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},schema:schema180.properties.type.type,parentSchema:schema180.properties.type,data:data10};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
}
else {
const err25 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema180.type,parentSchema:schema180,data};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
validate116.errors = vErrors;
return errors === 0;
}

const schema183 = {"type":"object","additionalProperties":false,"anyOf":[{"required":["scopes"]},{"required":["principals"]}],"x-says":"a rule needs \"scopes\" or \"principals\"","properties":{"upstreams":{"$ref":"#/$defs/globs"},"tools":{"$ref":"#/$defs/globs"},"prompts":{"$ref":"#/$defs/globs"},"resources":{"$ref":"#/$defs/globs"},"scopes":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/scope"}},"principals":{"$ref":"#/$defs/globs"}}};

function validate118(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs1 = errors;
let valid0 = false;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.scopes === undefined){
const err0 = {instancePath,schemaPath:"#/anyOf/0/required",keyword:"required",params:{missingProperty: "scopes"},schema:schema183.anyOf[0].required,parentSchema:schema183.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs3 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.principals === undefined){
const err1 = {instancePath,schemaPath:"#/anyOf/1/required",keyword:"required",params:{missingProperty: "principals"},schema:schema183.anyOf[1].required,parentSchema:schema183.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
valid0 = valid0 || _valid0;
}
if(!valid0){
const err2 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},schema:schema183.anyOf,parentSchema:schema183,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
else {
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "upstreams") || (key0 === "tools")) || (key0 === "prompts")) || (key0 === "resources")) || (key0 === "scopes")) || (key0 === "principals"))){
const err3 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema183,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.upstreams !== undefined){
let data0 = data.upstreams;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err4 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(typeof data0 === "string"){
if(data0.length < 1){
const err5 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err6 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length < 1){
const err7 = {instancePath:instancePath+"/upstreams/" + i0,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/upstreams/" + i0,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data1};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
}
if(data.tools !== undefined){
let data2 = data.tools;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
const err9 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(typeof data2 === "string"){
if(data2.length < 1){
const err10 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(Array.isArray(data2)){
if(data2.length < 1){
const err11 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err12 = {instancePath:instancePath+"/tools/" + i1,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/tools/" + i1,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
}
if(data.prompts !== undefined){
let data4 = data.prompts;
if((typeof data4 !== "string") && (!(Array.isArray(data4)))){
const err14 = {instancePath:instancePath+"/prompts",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
if(typeof data4 === "string"){
if(data4.length < 1){
const err15 = {instancePath:instancePath+"/prompts",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(Array.isArray(data4)){
if(data4.length < 1){
const err16 = {instancePath:instancePath+"/prompts",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
const len2 = data4.length;
for(let i2=0; i2<len2; i2++){
let data5 = data4[i2];
if(typeof data5 === "string"){
if(data5.length < 1){
const err17 = {instancePath:instancePath+"/prompts/" + i2,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/prompts/" + i2,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
}
if(data.resources !== undefined){
let data6 = data.resources;
if((typeof data6 !== "string") && (!(Array.isArray(data6)))){
const err19 = {instancePath:instancePath+"/resources",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if(typeof data6 === "string"){
if(data6.length < 1){
const err20 = {instancePath:instancePath+"/resources",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(Array.isArray(data6)){
if(data6.length < 1){
const err21 = {instancePath:instancePath+"/resources",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
const len3 = data6.length;
for(let i3=0; i3<len3; i3++){
let data7 = data6[i3];
if(typeof data7 === "string"){
if(data7.length < 1){
const err22 = {instancePath:instancePath+"/resources/" + i3,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
else {
const err23 = {instancePath:instancePath+"/resources/" + i3,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
}
}
if(data.scopes !== undefined){
let data8 = data.scopes;
if(Array.isArray(data8)){
if(data8.length < 1){
const err24 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema183.properties.scopes,data:data8};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
const len4 = data8.length;
for(let i4=0; i4<len4; i4++){
let data9 = data8[i4];
if(typeof data9 === "string"){
if(!pattern87.test(data9)){
const err25 = {instancePath:instancePath+"/scopes/" + i4,schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]{1,128}$"},schema:"^[!#-\\[\\]-~]{1,128}$",parentSchema:schema178,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
else {
const err26 = {instancePath:instancePath+"/scopes/" + i4,schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: "string"},schema:schema178.type,parentSchema:schema178,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
}
else {
const err27 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/type",keyword:"type",params:{type: "array"},schema:schema183.properties.scopes.type,parentSchema:schema183.properties.scopes,data:data8};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(data.principals !== undefined){
let data10 = data.principals;
if((typeof data10 !== "string") && (!(Array.isArray(data10)))){
const err28 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
if(typeof data10 === "string"){
if(data10.length < 1){
const err29 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
if(Array.isArray(data10)){
if(data10.length < 1){
const err30 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data10};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
const len5 = data10.length;
for(let i5=0; i5<len5; i5++){
let data11 = data10[i5];
if(typeof data11 === "string"){
if(data11.length < 1){
const err31 = {instancePath:instancePath+"/principals/" + i5,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data11};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
else {
const err32 = {instancePath:instancePath+"/principals/" + i5,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data11};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
}
}
}
}
else {
const err33 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema183.type,parentSchema:schema183,data};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
validate118.errors = vErrors;
return errors === 0;
}

const pattern91 = new RegExp("^https?://[^\\s#?]+$", "u");

function validate113(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs1 = errors;
let valid0 = false;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.keys === undefined){
const err0 = {instancePath,schemaPath:"#/anyOf/0/required",keyword:"required",params:{missingProperty: "keys"},schema:schema176.anyOf[0].required,parentSchema:schema176.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs3 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.keysFile === undefined){
const err1 = {instancePath,schemaPath:"#/anyOf/1/required",keyword:"required",params:{missingProperty: "keysFile"},schema:schema176.anyOf[1].required,parentSchema:schema176.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs4 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.jwt === undefined){
const err2 = {instancePath,schemaPath:"#/anyOf/2/required",keyword:"required",params:{missingProperty: "jwt"},schema:schema176.anyOf[2].required,parentSchema:schema176.anyOf[2],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
var _valid0 = _errs4 === errors;
valid0 = valid0 || _valid0;
}
}
if(!valid0){
const err3 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},schema:schema176.anyOf,parentSchema:schema176,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
else {
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.keyHeader === undefined){
data.keyHeader = "X-API-Key";
}
if(data.except === undefined){
data.except = [];
}
if(data.rules === undefined){
data.rules = [];
}
for(const key0 in data){
if(!((((((((key0 === "keys") || (key0 === "keysFile")) || (key0 === "keyHeader")) || (key0 === "jwt")) || (key0 === "resource")) || (key0 === "listeners")) || (key0 === "except")) || (key0 === "rules"))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema176,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.keys !== undefined){
let data0 = data.keys;
if(Array.isArray(data0)){
if(data0.length > 1000){
const err5 = {instancePath:instancePath+"/keys",schemaPath:"#/properties/keys/maxItems",keyword:"maxItems",params:{limit: 1000},schema:1000,parentSchema:schema176.properties.keys,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
if(!(validate114(data0[i0], {instancePath:instancePath+"/keys/" + i0,parentData:data0,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
}
else {
const err6 = {instancePath:instancePath+"/keys",schemaPath:"#/properties/keys/type",keyword:"type",params:{type: "array"},schema:schema176.properties.keys.type,parentSchema:schema176.properties.keys,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.keysFile !== undefined){
let data2 = data.keysFile;
if(typeof data2 === "string"){
if(data2.length < 1){
const err7 = {instancePath:instancePath+"/keysFile",schemaPath:"#/properties/keysFile/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema176.properties.keysFile,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/keysFile",schemaPath:"#/properties/keysFile/type",keyword:"type",params:{type: "string"},schema:schema176.properties.keysFile.type,parentSchema:schema176.properties.keysFile,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
let data3 = data.keyHeader;
if(typeof data3 === "string"){
if(!pattern8.test(data3)){
const err9 = {instancePath:instancePath+"/keyHeader",schemaPath:"#/$defs/headerName/pattern",keyword:"pattern",params:{pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},schema:"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",parentSchema:schema31,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/keyHeader",schemaPath:"#/$defs/headerName/type",keyword:"type",params:{type: "string"},schema:schema31.type,parentSchema:schema31,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data.jwt !== undefined){
let data4 = data.jwt;
if(Array.isArray(data4)){
if(data4.length < 1){
const err11 = {instancePath:instancePath+"/jwt",schemaPath:"#/properties/jwt/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema176.properties.jwt,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len1 = data4.length;
for(let i1=0; i1<len1; i1++){
if(!(validate116(data4[i1], {instancePath:instancePath+"/jwt/" + i1,parentData:data4,parentDataProperty:i1,rootData}))){
vErrors = vErrors === null ? validate116.errors : vErrors.concat(validate116.errors);
errors = vErrors.length;
}
}
}
else {
const err12 = {instancePath:instancePath+"/jwt",schemaPath:"#/properties/jwt/type",keyword:"type",params:{type: "array"},schema:schema176.properties.jwt.type,parentSchema:schema176.properties.jwt,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data.resource !== undefined){
let data6 = data.resource;
if(typeof data6 === "string"){
if(!pattern91.test(data6)){
const err13 = {instancePath:instancePath+"/resource",schemaPath:"#/properties/resource/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s#?]+$"},schema:"^https?://[^\\s#?]+$",parentSchema:schema176.properties.resource,data:data6};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/resource",schemaPath:"#/properties/resource/type",keyword:"type",params:{type: "string"},schema:schema176.properties.resource.type,parentSchema:schema176.properties.resource,data:data6};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.listeners !== undefined){
let data7 = data.listeners;
if(Array.isArray(data7)){
if(data7.length < 1){
const err15 = {instancePath:instancePath+"/listeners",schemaPath:"#/properties/listeners/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema176.properties.listeners,data:data7};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
const len2 = data7.length;
for(let i2=0; i2<len2; i2++){
let data8 = data7[i2];
if(typeof data8 !== "string"){
const err16 = {instancePath:instancePath+"/listeners/" + i2,schemaPath:"#/properties/listeners/items/type",keyword:"type",params:{type: "string"},schema:schema176.properties.listeners.items.type,parentSchema:schema176.properties.listeners.items,data:data8};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath:instancePath+"/listeners",schemaPath:"#/properties/listeners/type",keyword:"type",params:{type: "array"},schema:schema176.properties.listeners.type,parentSchema:schema176.properties.listeners,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
let data9 = data.except;
if(Array.isArray(data9)){
const len3 = data9.length;
for(let i3=0; i3<len3; i3++){
let data10 = data9[i3];
if(typeof data10 === "string"){
if(!pattern7.test(data10)){
const err18 = {instancePath:instancePath+"/except/" + i3,schemaPath:"#/properties/except/items/pattern",keyword:"pattern",params:{pattern: "^/[^\\s?#]*$"},schema:"^/[^\\s?#]*$",parentSchema:schema176.properties.except.items,data:data10};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
else {
const err19 = {instancePath:instancePath+"/except/" + i3,schemaPath:"#/properties/except/items/type",keyword:"type",params:{type: "string"},schema:schema176.properties.except.items.type,parentSchema:schema176.properties.except.items,data:data10};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
}
else {
const err20 = {instancePath:instancePath+"/except",schemaPath:"#/properties/except/type",keyword:"type",params:{type: "array"},schema:schema176.properties.except.type,parentSchema:schema176.properties.except,data:data9};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
let data11 = data.rules;
if(Array.isArray(data11)){
const len4 = data11.length;
for(let i4=0; i4<len4; i4++){
if(!(validate118(data11[i4], {instancePath:instancePath+"/rules/" + i4,parentData:data11,parentDataProperty:i4,rootData}))){
vErrors = vErrors === null ? validate118.errors : vErrors.concat(validate118.errors);
errors = vErrors.length;
}
}
}
else {
const err21 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/type",keyword:"type",params:{type: "array"},schema:schema176.properties.rules.type,parentSchema:schema176.properties.rules,data:data11};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
else {
const err22 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema176.type,parentSchema:schema176,data};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
validate113.errors = vErrors;
return errors === 0;
}

const schema190 = {"type":"object","additionalProperties":false,"required":["rules"],"properties":{"rules":{"description":"Limits by name. Each one counts for itself; a request must be within all that match.","type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/RateLimitRuleConfig"}},"onFailure":{"enum":["refuse","continue"],"type":"string"},"state":{"x-private":"directory","type":"string","minLength":1}}};
const schema192 = {"type":"object","additionalProperties":false,"anyOf":[{"required":["perMinute"]},{"required":["perDay"]},{"required":["inFlight"]}],"x-says":"a limit needs \"perMinute\", \"perDay\" or \"inFlight\"","properties":{"per":{"type":"array","items":{"enum":["principal","session","tool","upstream"]}},"principals":{"$ref":"#/$defs/globs"},"profiles":{"$ref":"#/$defs/globs"},"tools":{"$ref":"#/$defs/globs"},"upstreams":{"$ref":"#/$defs/globs"},"perMinute":{"type":"integer","minimum":1,"maximum":100000},"perDay":{"type":"integer","minimum":1},"inFlight":{"type":"integer","minimum":1,"maximum":100000}}};

function validate122(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs1 = errors;
let valid0 = false;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.perMinute === undefined){
const err0 = {instancePath,schemaPath:"#/anyOf/0/required",keyword:"required",params:{missingProperty: "perMinute"},schema:schema192.anyOf[0].required,parentSchema:schema192.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs3 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.perDay === undefined){
const err1 = {instancePath,schemaPath:"#/anyOf/1/required",keyword:"required",params:{missingProperty: "perDay"},schema:schema192.anyOf[1].required,parentSchema:schema192.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs4 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.inFlight === undefined){
const err2 = {instancePath,schemaPath:"#/anyOf/2/required",keyword:"required",params:{missingProperty: "inFlight"},schema:schema192.anyOf[2].required,parentSchema:schema192.anyOf[2],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
var _valid0 = _errs4 === errors;
valid0 = valid0 || _valid0;
}
}
if(!valid0){
const err3 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},schema:schema192.anyOf,parentSchema:schema192,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
else {
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.per === undefined){
data.per = ["principal"];
}
for(const key0 in data){
if(!((((((((key0 === "per") || (key0 === "principals")) || (key0 === "profiles")) || (key0 === "tools")) || (key0 === "upstreams")) || (key0 === "perMinute")) || (key0 === "perDay")) || (key0 === "inFlight"))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema192,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
let data0 = data.per;
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(!((((data1 === "principal") || (data1 === "session")) || (data1 === "tool")) || (data1 === "upstream"))){
const err5 = {instancePath:instancePath+"/per/" + i0,schemaPath:"#/properties/per/items/enum",keyword:"enum",params:{allowedValues: schema192.properties.per.items.enum},schema:schema192.properties.per.items.enum,parentSchema:schema192.properties.per.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/per",schemaPath:"#/properties/per/type",keyword:"type",params:{type: "array"},schema:schema192.properties.per.type,parentSchema:schema192.properties.per,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data.principals !== undefined){
let data2 = data.principals;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
const err7 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(typeof data2 === "string"){
if(data2.length < 1){
const err8 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(Array.isArray(data2)){
if(data2.length < 1){
const err9 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/principals/" + i1,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/principals/" + i1,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
}
if(data.profiles !== undefined){
let data4 = data.profiles;
if((typeof data4 !== "string") && (!(Array.isArray(data4)))){
const err12 = {instancePath:instancePath+"/profiles",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(typeof data4 === "string"){
if(data4.length < 1){
const err13 = {instancePath:instancePath+"/profiles",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(Array.isArray(data4)){
if(data4.length < 1){
const err14 = {instancePath:instancePath+"/profiles",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
const len2 = data4.length;
for(let i2=0; i2<len2; i2++){
let data5 = data4[i2];
if(typeof data5 === "string"){
if(data5.length < 1){
const err15 = {instancePath:instancePath+"/profiles/" + i2,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/profiles/" + i2,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
}
if(data.tools !== undefined){
let data6 = data.tools;
if((typeof data6 !== "string") && (!(Array.isArray(data6)))){
const err17 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if(typeof data6 === "string"){
if(data6.length < 1){
const err18 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(Array.isArray(data6)){
if(data6.length < 1){
const err19 = {instancePath:instancePath+"/tools",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
const len3 = data6.length;
for(let i3=0; i3<len3; i3++){
let data7 = data6[i3];
if(typeof data7 === "string"){
if(data7.length < 1){
const err20 = {instancePath:instancePath+"/tools/" + i3,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/tools/" + i3,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
}
if(data.upstreams !== undefined){
let data8 = data.upstreams;
if((typeof data8 !== "string") && (!(Array.isArray(data8)))){
const err22 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(typeof data8 === "string"){
if(data8.length < 1){
const err23 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(Array.isArray(data8)){
if(data8.length < 1){
const err24 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data8};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
const len4 = data8.length;
for(let i4=0; i4<len4; i4++){
let data9 = data8[i4];
if(typeof data9 === "string"){
if(data9.length < 1){
const err25 = {instancePath:instancePath+"/upstreams/" + i4,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
else {
const err26 = {instancePath:instancePath+"/upstreams/" + i4,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
}
}
if(data.perMinute !== undefined){
let data10 = data.perMinute;
if(!(((typeof data10 == "number") && (!(data10 % 1) && !isNaN(data10))) && (isFinite(data10)))){
const err27 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/type",keyword:"type",params:{type: "integer"},schema:schema192.properties.perMinute.type,parentSchema:schema192.properties.perMinute,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
if((typeof data10 == "number") && (isFinite(data10))){
if(data10 > 100000 || isNaN(data10)){
const err28 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema192.properties.perMinute,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
if(data10 < 1 || isNaN(data10)){
const err29 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema192.properties.perMinute,data:data10};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
}
if(data.perDay !== undefined){
let data11 = data.perDay;
if(!(((typeof data11 == "number") && (!(data11 % 1) && !isNaN(data11))) && (isFinite(data11)))){
const err30 = {instancePath:instancePath+"/perDay",schemaPath:"#/properties/perDay/type",keyword:"type",params:{type: "integer"},schema:schema192.properties.perDay.type,parentSchema:schema192.properties.perDay,data:data11};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
if((typeof data11 == "number") && (isFinite(data11))){
if(data11 < 1 || isNaN(data11)){
const err31 = {instancePath:instancePath+"/perDay",schemaPath:"#/properties/perDay/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema192.properties.perDay,data:data11};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
}
if(data.inFlight !== undefined){
let data12 = data.inFlight;
if(!(((typeof data12 == "number") && (!(data12 % 1) && !isNaN(data12))) && (isFinite(data12)))){
const err32 = {instancePath:instancePath+"/inFlight",schemaPath:"#/properties/inFlight/type",keyword:"type",params:{type: "integer"},schema:schema192.properties.inFlight.type,parentSchema:schema192.properties.inFlight,data:data12};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
if((typeof data12 == "number") && (isFinite(data12))){
if(data12 > 100000 || isNaN(data12)){
const err33 = {instancePath:instancePath+"/inFlight",schemaPath:"#/properties/inFlight/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema192.properties.inFlight,data:data12};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
if(data12 < 1 || isNaN(data12)){
const err34 = {instancePath:instancePath+"/inFlight",schemaPath:"#/properties/inFlight/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema192.properties.inFlight,data:data12};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
}
}
else {
const err35 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema192.type,parentSchema:schema192,data};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
validate122.errors = vErrors;
return errors === 0;
}


function validate121(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.onFailure === undefined){
data.onFailure = "refuse";
}
if(data.state === undefined){
data.state = ".gateway";
}
if(data.rules === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "rules"},schema:schema190.required,parentSchema:schema190,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((key0 === "rules") || (key0 === "onFailure")) || (key0 === "state"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema190,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.rules !== undefined){
let data0 = data.rules;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
for(const key1 in data0){
const _errs4 = errors;
if(typeof key1 === "string"){
if(!pattern6.test(key1)){
const err2 = {instancePath:instancePath+"/rules",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/rules",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
var valid1 = _errs4 === errors;
if(!valid1){
const err4 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema190.properties.rules.propertyNames,parentSchema:schema190.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
for(const key2 in data0){
if(!(validate122(data0[key2], {instancePath:instancePath+"/rules/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data0,parentDataProperty:key2,rootData}))){
vErrors = vErrors === null ? validate122.errors : vErrors.concat(validate122.errors);
errors = vErrors.length;
}
}
}
else {
const err5 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/type",keyword:"type",params:{type: "object"},schema:schema190.properties.rules.type,parentSchema:schema190.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
let data2 = data.onFailure;
if(typeof data2 !== "string"){
const err6 = {instancePath:instancePath+"/onFailure",schemaPath:"#/properties/onFailure/type",keyword:"type",params:{type: "string"},schema:schema190.properties.onFailure.type,parentSchema:schema190.properties.onFailure,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(!((data2 === "refuse") || (data2 === "continue"))){
const err7 = {instancePath:instancePath+"/onFailure",schemaPath:"#/properties/onFailure/enum",keyword:"enum",params:{allowedValues: schema190.properties.onFailure.enum},schema:schema190.properties.onFailure.enum,parentSchema:schema190.properties.onFailure,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
let data3 = data.state;
if(typeof data3 === "string"){
if(data3.length < 1){
const err8 = {instancePath:instancePath+"/state",schemaPath:"#/properties/state/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema190.properties.state,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/state",schemaPath:"#/properties/state/type",keyword:"type",params:{type: "string"},schema:schema190.properties.state.type,parentSchema:schema190.properties.state,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema190.type,parentSchema:schema190,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate121.errors = vErrors;
return errors === 0;
}

const schema197 = {"type":"object","additionalProperties":false,"properties":{"list":{"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/AgentConfig"}},"defaults":{"$ref":"#/$defs/AgentSettingsConfig"},"registry":{"$ref":"#/$defs/AgentRegistryConfig"},"commands":{"type":"array","items":{"type":"string","minLength":1,"maxLength":4096}},"roots":{"type":"array","items":{"type":"string","minLength":1,"maxLength":4096},"minItems":1},"routing":{"$ref":"#/$defs/AgentRoutingConfig"},"tasks":{"$ref":"#/$defs/AgentTasksConfig"},"processes":{"type":"integer","minimum":1,"maximum":256},"prefix":{"type":"string","pattern":"^[A-Za-z0-9_.-]{0,32}$","x-says":"up to 32 letters, digits, dots, hyphens or underscores"}}};
const schema233 = {"type":"object","additionalProperties":false,"required":["file","use"],"properties":{"file":{"description":"The file, relative to the configuration.","type":"string","minLength":1,"maxLength":4096},"use":{"description":"Ids of the agents that take part; none else do.","type":"array","items":{"type":"string","minLength":1,"maxLength":128},"minItems":1}}};
const pattern117 = new RegExp("^[A-Za-z0-9_.-]{0,32}$", "u");
const schema199 = {"type":"object","additionalProperties":false,"required":["command"],"properties":{"command":{"description":"Its program: a path, or a name on the PATH. Never run in a shell.","type":"string","minLength":1,"maxLength":4096},"args":{"type":"array","items":{"type":"string","maxLength":4096}},"enabled":{"type":"boolean"},"title":{"type":"string","minLength":1,"maxLength":128},"description":{"type":"string","maxLength":2048},"capabilities":{"type":"array","items":{"type":"string","pattern":"^[a-z0-9][a-z0-9._-]{0,63}$","x-says":"a capability: up to 64 lower-case letters, digits, dots, hyphens or underscores"}},"priority":{"type":"integer","minimum":-1000,"maximum":1000},"auth":{"$ref":"#/$defs/AgentAuthConfig"},"env":{"type":"object","additionalProperties":{"type":"string","x-secret":true}},"inheritEnv":{"type":"array","items":{"type":"string","minLength":1}},"mode":{"type":"string","minLength":1,"maxLength":128},"model":{"type":"string","minLength":1,"maxLength":128},"options":{"type":"object","additionalProperties":{"type":["string","boolean"]}},"limits":{"$ref":"#/$defs/AgentLimitsConfig"},"timeouts":{"$ref":"#/$defs/AgentTimeoutsConfig"},"pool":{"$ref":"#/$defs/AgentPoolConfig"},"permissions":{"$ref":"#/$defs/AgentPermissionsConfig"},"output":{"$ref":"#/$defs/AgentOutputConfig"},"client":{"$ref":"#/$defs/AgentClientConfig"},"callback":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/AgentCallbackConfig"},"else":{"type":"boolean"}},"isolation":{"enum":["none","worktree"]},"sandbox":{"type":["object","string"],"if":{"type":"object"},"then":{"$ref":"#/$defs/SandboxConfig"},"else":{"const":"bwrap","x-says":"a map or bwrap"}},"ceilings":{"$ref":"#/$defs/CeilingsConfig"}}};
const schema228 = {"type":"object","additionalProperties":false,"properties":{"tools":{"type":"array","items":{"type":"string","minLength":1}},"maxDepth":{"type":"integer","minimum":0,"maximum":8},"maxTasks":{"type":"integer","minimum":0,"maximum":1000}}};
const pattern96 = new RegExp("^[a-z0-9][a-z0-9._-]{0,63}$", "u");
const schema200 = {"type":"object","additionalProperties":false,"properties":{"method":{"type":"string","minLength":1,"maxLength":128},"meta":{"type":"object","x-secret":true},"provider":{"$ref":"#/$defs/AgentProviderConfig"}}};
const schema201 = {"type":"object","additionalProperties":false,"required":["id","api","url"],"properties":{"id":{"description":"The agent's own id of the provider.","type":"string","minLength":1,"maxLength":128},"api":{"description":"The kind of API behind it.","type":"string","minLength":1,"maxLength":64},"url":{"description":"Where it is.","type":"string","minLength":1,"maxLength":2048},"headers":{"type":"object","additionalProperties":{"type":"string","x-secret":true}}}};

function validate127(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((key0 === "method") || (key0 === "meta")) || (key0 === "provider"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema200,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.method !== undefined){
let data0 = data.method;
if(typeof data0 === "string"){
if(data0.length > 128){
const err1 = {instancePath:instancePath+"/method",schemaPath:"#/properties/method/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema200.properties.method,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/method",schemaPath:"#/properties/method/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema200.properties.method,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/method",schemaPath:"#/properties/method/type",keyword:"type",params:{type: "string"},schema:schema200.properties.method.type,parentSchema:schema200.properties.method,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.meta !== undefined){
let data1 = data.meta;
if(!(data1 && typeof data1 == "object" && !Array.isArray(data1))){
const err4 = {instancePath:instancePath+"/meta",schemaPath:"#/properties/meta/type",keyword:"type",params:{type: "object"},schema:schema200.properties.meta.type,parentSchema:schema200.properties.meta,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.provider !== undefined){
let data2 = data.provider;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.headers === undefined){
data2.headers = {};
}
if(data2.id === undefined){
const err5 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/AgentProviderConfig/required",keyword:"required",params:{missingProperty: "id"},schema:schema201.required,parentSchema:schema201,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data2.api === undefined){
const err6 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/AgentProviderConfig/required",keyword:"required",params:{missingProperty: "api"},schema:schema201.required,parentSchema:schema201,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data2.url === undefined){
const err7 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/AgentProviderConfig/required",keyword:"required",params:{missingProperty: "url"},schema:schema201.required,parentSchema:schema201,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
for(const key1 in data2){
if(!((((key1 === "id") || (key1 === "api")) || (key1 === "url")) || (key1 === "headers"))){
const err8 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/AgentProviderConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},schema:false,parentSchema:schema201,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data2.id !== undefined){
let data3 = data2.id;
if(typeof data3 === "string"){
if(data3.length > 128){
const err9 = {instancePath:instancePath+"/provider/id",schemaPath:"#/$defs/AgentProviderConfig/properties/id/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema201.properties.id,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/provider/id",schemaPath:"#/$defs/AgentProviderConfig/properties/id/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema201.properties.id,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/provider/id",schemaPath:"#/$defs/AgentProviderConfig/properties/id/type",keyword:"type",params:{type: "string"},schema:schema201.properties.id.type,parentSchema:schema201.properties.id,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data2.api !== undefined){
let data4 = data2.api;
if(typeof data4 === "string"){
if(data4.length > 64){
const err12 = {instancePath:instancePath+"/provider/api",schemaPath:"#/$defs/AgentProviderConfig/properties/api/maxLength",keyword:"maxLength",params:{limit: 64},schema:64,parentSchema:schema201.properties.api,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data4.length < 1){
const err13 = {instancePath:instancePath+"/provider/api",schemaPath:"#/$defs/AgentProviderConfig/properties/api/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema201.properties.api,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/provider/api",schemaPath:"#/$defs/AgentProviderConfig/properties/api/type",keyword:"type",params:{type: "string"},schema:schema201.properties.api.type,parentSchema:schema201.properties.api,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data2.url !== undefined){
let data5 = data2.url;
if(typeof data5 === "string"){
if(data5.length > 2048){
const err15 = {instancePath:instancePath+"/provider/url",schemaPath:"#/$defs/AgentProviderConfig/properties/url/maxLength",keyword:"maxLength",params:{limit: 2048},schema:2048,parentSchema:schema201.properties.url,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
if(data5.length < 1){
const err16 = {instancePath:instancePath+"/provider/url",schemaPath:"#/$defs/AgentProviderConfig/properties/url/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema201.properties.url,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
else {
const err17 = {instancePath:instancePath+"/provider/url",schemaPath:"#/$defs/AgentProviderConfig/properties/url/type",keyword:"type",params:{type: "string"},schema:schema201.properties.url.type,parentSchema:schema201.properties.url,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
let data6 = data2.headers;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key2 in data6){
let data7 = data6[key2];
if(typeof data7 !== "string"){
const err18 = {instancePath:instancePath+"/provider/headers/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/AgentProviderConfig/properties/headers/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema201.properties.headers.additionalProperties.type,parentSchema:schema201.properties.headers.additionalProperties,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
else {
const err19 = {instancePath:instancePath+"/provider/headers",schemaPath:"#/$defs/AgentProviderConfig/properties/headers/type",keyword:"type",params:{type: "object"},schema:schema201.properties.headers.type,parentSchema:schema201.properties.headers,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
else {
const err20 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/AgentProviderConfig/type",keyword:"type",params:{type: "object"},schema:schema201.type,parentSchema:schema201,data:data2};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
else {
const err21 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema200.type,parentSchema:schema200,data};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
validate127.errors = vErrors;
return errors === 0;
}

const schema202 = {"type":"object","additionalProperties":false,"properties":{"perMinute":{"type":"integer","minimum":1,"maximum":100000},"perDay":{"type":"integer","minimum":1,"maximum":10000000},"concurrent":{"type":"integer","minimum":1,"maximum":256},"queue":{"type":"integer","minimum":0,"maximum":4096},"queueTimeout":{"$ref":"#/$defs/duration"},"onLimit":{"enum":["fallback","queue","reject"]}}};

function validate129(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "perMinute") || (key0 === "perDay")) || (key0 === "concurrent")) || (key0 === "queue")) || (key0 === "queueTimeout")) || (key0 === "onLimit"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema202,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.perMinute !== undefined){
let data0 = data.perMinute;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/type",keyword:"type",params:{type: "integer"},schema:schema202.properties.perMinute.type,parentSchema:schema202.properties.perMinute,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 100000 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema202.properties.perMinute,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0 < 1 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/perMinute",schemaPath:"#/properties/perMinute/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema202.properties.perMinute,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.perDay !== undefined){
let data1 = data.perDay;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err4 = {instancePath:instancePath+"/perDay",schemaPath:"#/properties/perDay/type",keyword:"type",params:{type: "integer"},schema:schema202.properties.perDay.type,parentSchema:schema202.properties.perDay,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 10000000 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/perDay",schemaPath:"#/properties/perDay/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000000},schema:10000000,parentSchema:schema202.properties.perDay,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data1 < 1 || isNaN(data1)){
const err6 = {instancePath:instancePath+"/perDay",schemaPath:"#/properties/perDay/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema202.properties.perDay,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.concurrent !== undefined){
let data2 = data.concurrent;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err7 = {instancePath:instancePath+"/concurrent",schemaPath:"#/properties/concurrent/type",keyword:"type",params:{type: "integer"},schema:schema202.properties.concurrent.type,parentSchema:schema202.properties.concurrent,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 256 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/concurrent",schemaPath:"#/properties/concurrent/maximum",keyword:"maximum",params:{comparison: "<=", limit: 256},schema:256,parentSchema:schema202.properties.concurrent,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data2 < 1 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/concurrent",schemaPath:"#/properties/concurrent/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema202.properties.concurrent,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.queue !== undefined){
let data3 = data.queue;
if(!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3)))){
const err10 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/type",keyword:"type",params:{type: "integer"},schema:schema202.properties.queue.type,parentSchema:schema202.properties.queue,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 > 4096 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/maximum",keyword:"maximum",params:{comparison: "<=", limit: 4096},schema:4096,parentSchema:schema202.properties.queue,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data3 < 0 || isNaN(data3)){
const err12 = {instancePath:instancePath+"/queue",schemaPath:"#/properties/queue/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema202.properties.queue,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.queueTimeout !== undefined){
let data4 = data.queueTimeout;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern0.test(data4)){
const err15 = {instancePath:instancePath+"/queueTimeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
if(data.onLimit !== undefined){
let data5 = data.onLimit;
if(!(((data5 === "fallback") || (data5 === "queue")) || (data5 === "reject"))){
const err16 = {instancePath:instancePath+"/onLimit",schemaPath:"#/properties/onLimit/enum",keyword:"enum",params:{allowedValues: schema202.properties.onLimit.enum},schema:schema202.properties.onLimit.enum,parentSchema:schema202.properties.onLimit,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema202.type,parentSchema:schema202,data};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
validate129.errors = vErrors;
return errors === 0;
}

const schema204 = {"type":"object","additionalProperties":false,"properties":{"initialize":{"$ref":"#/$defs/duration"},"session":{"$ref":"#/$defs/duration"},"firstUpdate":{"$ref":"#/$defs/duration"},"idle":{"$ref":"#/$defs/duration"},"turn":{"$ref":"#/$defs/duration"},"cancel":{"$ref":"#/$defs/duration"}}};

function validate131(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "initialize") || (key0 === "session")) || (key0 === "firstUpdate")) || (key0 === "idle")) || (key0 === "turn")) || (key0 === "cancel"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema204,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.initialize !== undefined){
let data0 = data.initialize;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/initialize",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/initialize",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern0.test(data0)){
const err3 = {instancePath:instancePath+"/initialize",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.session !== undefined){
let data1 = data.session;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/session",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/session",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err6 = {instancePath:instancePath+"/session",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.firstUpdate !== undefined){
let data2 = data.firstUpdate;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/firstUpdate",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/firstUpdate",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern0.test(data2)){
const err9 = {instancePath:instancePath+"/firstUpdate",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.idle !== undefined){
let data3 = data.idle;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err10 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err12 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.turn !== undefined){
let data4 = data.turn;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/turn",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/turn",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern0.test(data4)){
const err15 = {instancePath:instancePath+"/turn",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
if(data.cancel !== undefined){
let data5 = data.cancel;
if((typeof data5 !== "string") && (!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5))))){
const err16 = {instancePath:instancePath+"/cancel",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if((typeof data5 == "number") && (isFinite(data5))){
if(data5 < 0 || isNaN(data5)){
const err17 = {instancePath:instancePath+"/cancel",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(typeof data5 === "string"){
if(!pattern0.test(data5)){
const err18 = {instancePath:instancePath+"/cancel",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data5};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
}
else {
const err19 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema204.type,parentSchema:schema204,data};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
validate131.errors = vErrors;
return errors === 0;
}

const schema211 = {"type":"object","additionalProperties":false,"properties":{"warm":{"type":"integer","minimum":0,"maximum":16},"processes":{"type":"integer","minimum":1,"maximum":64},"sessions":{"type":"integer","minimum":1,"maximum":64},"idle":{"$ref":"#/$defs/duration"},"maxAge":{"$ref":"#/$defs/duration"},"maxTurns":{"type":"integer","minimum":1,"maximum":100000},"maxMemory":{"$ref":"#/$defs/size"}}};

function validate133(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((((((key0 === "warm") || (key0 === "processes")) || (key0 === "sessions")) || (key0 === "idle")) || (key0 === "maxAge")) || (key0 === "maxTurns")) || (key0 === "maxMemory"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema211,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.warm !== undefined){
let data0 = data.warm;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/warm",schemaPath:"#/properties/warm/type",keyword:"type",params:{type: "integer"},schema:schema211.properties.warm.type,parentSchema:schema211.properties.warm,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 > 16 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/warm",schemaPath:"#/properties/warm/maximum",keyword:"maximum",params:{comparison: "<=", limit: 16},schema:16,parentSchema:schema211.properties.warm,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0 < 0 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/warm",schemaPath:"#/properties/warm/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema211.properties.warm,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.processes !== undefined){
let data1 = data.processes;
if(!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1)))){
const err4 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/type",keyword:"type",params:{type: "integer"},schema:schema211.properties.processes.type,parentSchema:schema211.properties.processes,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 > 64 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema211.properties.processes,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data1 < 1 || isNaN(data1)){
const err6 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema211.properties.processes,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.sessions !== undefined){
let data2 = data.sessions;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err7 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/type",keyword:"type",params:{type: "integer"},schema:schema211.properties.sessions.type,parentSchema:schema211.properties.sessions,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 64 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema211.properties.sessions,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data2 < 1 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/sessions",schemaPath:"#/properties/sessions/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema211.properties.sessions,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.idle !== undefined){
let data3 = data.idle;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err10 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err12 = {instancePath:instancePath+"/idle",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.maxAge !== undefined){
let data4 = data.maxAge;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern0.test(data4)){
const err15 = {instancePath:instancePath+"/maxAge",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
if(data.maxTurns !== undefined){
let data5 = data.maxTurns;
if(!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5)))){
const err16 = {instancePath:instancePath+"/maxTurns",schemaPath:"#/properties/maxTurns/type",keyword:"type",params:{type: "integer"},schema:schema211.properties.maxTurns.type,parentSchema:schema211.properties.maxTurns,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if((typeof data5 == "number") && (isFinite(data5))){
if(data5 > 100000 || isNaN(data5)){
const err17 = {instancePath:instancePath+"/maxTurns",schemaPath:"#/properties/maxTurns/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema211.properties.maxTurns,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if(data5 < 1 || isNaN(data5)){
const err18 = {instancePath:instancePath+"/maxTurns",schemaPath:"#/properties/maxTurns/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema211.properties.maxTurns,data:data5};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
if(data.maxMemory !== undefined){
let data6 = data.maxMemory;
if((typeof data6 !== "string") && (!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6))))){
const err19 = {instancePath:instancePath+"/maxMemory",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
if((typeof data6 == "number") && (isFinite(data6))){
if(data6 < 0 || isNaN(data6)){
const err20 = {instancePath:instancePath+"/maxMemory",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(typeof data6 === "string"){
if(!pattern12.test(data6)){
const err21 = {instancePath:instancePath+"/maxMemory",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data6};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
}
else {
const err22 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema211.type,parentSchema:schema211,data};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
validate133.errors = vErrors;
return errors === 0;
}

const schema215 = {"type":"object","additionalProperties":false,"properties":{"rules":{"type":"array","items":{"$ref":"#/$defs/AgentPermissionRuleConfig"},"maxItems":256},"default":{"enum":["allow","deny","ask"]},"askTimeout":{"$ref":"#/$defs/duration"}}};
const schema216 = {"type":"object","additionalProperties":false,"required":["do"],"properties":{"kinds":{"type":"array","items":{"enum":["read","edit","delete","move","search","execute","think","fetch","switch_mode","other"]},"minItems":1},"commands":{"type":"array","items":{"type":"string","minLength":1,"maxLength":4096}},"within":{"type":"string","minLength":1,"maxLength":4096},"titles":{"$ref":"#/$defs/globs"},"do":{"description":"`allow` this once, `deny` this once, or `ask` the caller.","enum":["allow","deny","ask"]}}};

function validate136(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.do === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "do"},schema:schema216.required,parentSchema:schema216,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((((key0 === "kinds") || (key0 === "commands")) || (key0 === "within")) || (key0 === "titles")) || (key0 === "do"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema216,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.kinds !== undefined){
let data0 = data.kinds;
if(Array.isArray(data0)){
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/kinds",schemaPath:"#/properties/kinds/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema216.properties.kinds,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(!((((((((((data1 === "read") || (data1 === "edit")) || (data1 === "delete")) || (data1 === "move")) || (data1 === "search")) || (data1 === "execute")) || (data1 === "think")) || (data1 === "fetch")) || (data1 === "switch_mode")) || (data1 === "other"))){
const err3 = {instancePath:instancePath+"/kinds/" + i0,schemaPath:"#/properties/kinds/items/enum",keyword:"enum",params:{allowedValues: schema216.properties.kinds.items.enum},schema:schema216.properties.kinds.items.enum,parentSchema:schema216.properties.kinds.items,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
else {
const err4 = {instancePath:instancePath+"/kinds",schemaPath:"#/properties/kinds/type",keyword:"type",params:{type: "array"},schema:schema216.properties.kinds.type,parentSchema:schema216.properties.kinds,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.commands !== undefined){
let data2 = data.commands;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(data3.length > 4096){
const err5 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema216.properties.commands.items,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data3.length < 1){
const err6 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema216.properties.commands.items,data:data3};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/type",keyword:"type",params:{type: "string"},schema:schema216.properties.commands.items.type,parentSchema:schema216.properties.commands.items,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/commands",schemaPath:"#/properties/commands/type",keyword:"type",params:{type: "array"},schema:schema216.properties.commands.type,parentSchema:schema216.properties.commands,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.within !== undefined){
let data4 = data.within;
if(typeof data4 === "string"){
if(data4.length > 4096){
const err9 = {instancePath:instancePath+"/within",schemaPath:"#/properties/within/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema216.properties.within,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data4.length < 1){
const err10 = {instancePath:instancePath+"/within",schemaPath:"#/properties/within/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema216.properties.within,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/within",schemaPath:"#/properties/within/type",keyword:"type",params:{type: "string"},schema:schema216.properties.within.type,parentSchema:schema216.properties.within,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.titles !== undefined){
let data5 = data.titles;
if((typeof data5 !== "string") && (!(Array.isArray(data5)))){
const err12 = {instancePath:instancePath+"/titles",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(typeof data5 === "string"){
if(data5.length < 1){
const err13 = {instancePath:instancePath+"/titles",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(Array.isArray(data5)){
if(data5.length < 1){
const err14 = {instancePath:instancePath+"/titles",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
const len2 = data5.length;
for(let i2=0; i2<len2; i2++){
let data6 = data5[i2];
if(typeof data6 === "string"){
if(data6.length < 1){
const err15 = {instancePath:instancePath+"/titles/" + i2,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/titles/" + i2,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
}
if(data.do !== undefined){
let data7 = data.do;
if(!(((data7 === "allow") || (data7 === "deny")) || (data7 === "ask"))){
const err17 = {instancePath:instancePath+"/do",schemaPath:"#/properties/do/enum",keyword:"enum",params:{allowedValues: schema216.properties.do.enum},schema:schema216.properties.do.enum,parentSchema:schema216.properties.do,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
else {
const err18 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema216.type,parentSchema:schema216,data};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
validate136.errors = vErrors;
return errors === 0;
}


function validate135(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((key0 === "rules") || (key0 === "default")) || (key0 === "askTimeout"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema215,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.rules !== undefined){
let data0 = data.rules;
if(Array.isArray(data0)){
if(data0.length > 256){
const err1 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/maxItems",keyword:"maxItems",params:{limit: 256},schema:256,parentSchema:schema215.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
if(!(validate136(data0[i0], {instancePath:instancePath+"/rules/" + i0,parentData:data0,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate136.errors : vErrors.concat(validate136.errors);
errors = vErrors.length;
}
}
}
else {
const err2 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/type",keyword:"type",params:{type: "array"},schema:schema215.properties.rules.type,parentSchema:schema215.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.default !== undefined){
let data2 = data.default;
if(!(((data2 === "allow") || (data2 === "deny")) || (data2 === "ask"))){
const err3 = {instancePath:instancePath+"/default",schemaPath:"#/properties/default/enum",keyword:"enum",params:{allowedValues: schema215.properties.default.enum},schema:schema215.properties.default.enum,parentSchema:schema215.properties.default,data:data2};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.askTimeout !== undefined){
let data3 = data.askTimeout;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err4 = {instancePath:instancePath+"/askTimeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err5 = {instancePath:instancePath+"/askTimeout",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err6 = {instancePath:instancePath+"/askTimeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema215.type,parentSchema:schema215,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate135.errors = vErrors;
return errors === 0;
}

const schema219 = {"type":"object","additionalProperties":false,"properties":{"inline":{"$ref":"#/$defs/size"},"keep":{"$ref":"#/$defs/size"},"maxLine":{"$ref":"#/$defs/size"},"events":{"type":"integer","minimum":0,"maximum":100000},"thoughts":{"type":"boolean"}}};

function validate139(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((((key0 === "inline") || (key0 === "keep")) || (key0 === "maxLine")) || (key0 === "events")) || (key0 === "thoughts"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema219,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.inline !== undefined){
let data0 = data.inline;
if((typeof data0 !== "string") && (!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0))))){
const err1 = {instancePath:instancePath+"/inline",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 0 || isNaN(data0)){
const err2 = {instancePath:instancePath+"/inline",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(typeof data0 === "string"){
if(!pattern12.test(data0)){
const err3 = {instancePath:instancePath+"/inline",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.keep !== undefined){
let data1 = data.keep;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/keep",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/keep",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern12.test(data1)){
const err6 = {instancePath:instancePath+"/keep",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
if(data.maxLine !== undefined){
let data2 = data.maxLine;
if((typeof data2 !== "string") && (!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2))))){
const err7 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 < 0 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data2 === "string"){
if(!pattern12.test(data2)){
const err9 = {instancePath:instancePath+"/maxLine",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.events !== undefined){
let data3 = data.events;
if(!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3)))){
const err10 = {instancePath:instancePath+"/events",schemaPath:"#/properties/events/type",keyword:"type",params:{type: "integer"},schema:schema219.properties.events.type,parentSchema:schema219.properties.events,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 > 100000 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/events",schemaPath:"#/properties/events/maximum",keyword:"maximum",params:{comparison: "<=", limit: 100000},schema:100000,parentSchema:schema219.properties.events,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data3 < 0 || isNaN(data3)){
const err12 = {instancePath:instancePath+"/events",schemaPath:"#/properties/events/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema219.properties.events,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.thoughts !== undefined){
let data4 = data.thoughts;
if(typeof data4 !== "boolean"){
const err13 = {instancePath:instancePath+"/thoughts",schemaPath:"#/properties/thoughts/type",keyword:"type",params:{type: "boolean"},schema:schema219.properties.thoughts.type,parentSchema:schema219.properties.thoughts,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema219.type,parentSchema:schema219,data};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate139.errors = vErrors;
return errors === 0;
}

const schema223 = {"type":"object","additionalProperties":false,"properties":{"readFiles":{"type":"boolean"},"writeFiles":{"type":"boolean"},"terminal":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/AgentTerminalConfig"},"else":{"const":false,"x-says":"a map or false"}},"maxFile":{"$ref":"#/$defs/size"}}};
const schema224 = {"type":"object","additionalProperties":false,"required":["commands"],"properties":{"commands":{"description":"Globs that the real path of the program must match, links followed.","type":"array","items":{"type":"string","minLength":1,"maxLength":4096},"minItems":1},"max":{"type":"integer","minimum":1,"maximum":64},"timeout":{"$ref":"#/$defs/duration"},"output":{"$ref":"#/$defs/size"}}};

function validate142(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.commands === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "commands"},schema:schema224.required,parentSchema:schema224,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "commands") || (key0 === "max")) || (key0 === "timeout")) || (key0 === "output"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema224,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.commands !== undefined){
let data0 = data.commands;
if(Array.isArray(data0)){
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/commands",schemaPath:"#/properties/commands/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema224.properties.commands,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(data1.length > 4096){
const err3 = {instancePath:instancePath+"/commands/" + i0,schemaPath:"#/properties/commands/items/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema224.properties.commands.items,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/commands/" + i0,schemaPath:"#/properties/commands/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema224.properties.commands.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/commands/" + i0,schemaPath:"#/properties/commands/items/type",keyword:"type",params:{type: "string"},schema:schema224.properties.commands.items.type,parentSchema:schema224.properties.commands.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
else {
const err6 = {instancePath:instancePath+"/commands",schemaPath:"#/properties/commands/type",keyword:"type",params:{type: "array"},schema:schema224.properties.commands.type,parentSchema:schema224.properties.commands,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.max !== undefined){
let data2 = data.max;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err7 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema224.properties.max.type,parentSchema:schema224.properties.max,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 64 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 64},schema:64,parentSchema:schema224.properties.max,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data2 < 1 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema224.properties.max,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
if(data.timeout !== undefined){
let data3 = data.timeout;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err10 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern0.test(data3)){
const err12 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
if(data.output !== undefined){
let data4 = data.output;
if((typeof data4 !== "string") && (!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4))))){
const err13 = {instancePath:instancePath+"/output",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 < 0 || isNaN(data4)){
const err14 = {instancePath:instancePath+"/output",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(typeof data4 === "string"){
if(!pattern12.test(data4)){
const err15 = {instancePath:instancePath+"/output",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
}
else {
const err16 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema224.type,parentSchema:schema224,data};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
validate142.errors = vErrors;
return errors === 0;
}


function validate141(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((key0 === "readFiles") || (key0 === "writeFiles")) || (key0 === "terminal")) || (key0 === "maxFile"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema223,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.readFiles !== undefined){
let data0 = data.readFiles;
if(typeof data0 !== "boolean"){
const err1 = {instancePath:instancePath+"/readFiles",schemaPath:"#/properties/readFiles/type",keyword:"type",params:{type: "boolean"},schema:schema223.properties.readFiles.type,parentSchema:schema223.properties.readFiles,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.writeFiles !== undefined){
let data1 = data.writeFiles;
if(typeof data1 !== "boolean"){
const err2 = {instancePath:instancePath+"/writeFiles",schemaPath:"#/properties/writeFiles/type",keyword:"type",params:{type: "boolean"},schema:schema223.properties.writeFiles.type,parentSchema:schema223.properties.writeFiles,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.terminal !== undefined){
let data2 = data.terminal;
if((!(data2 && typeof data2 == "object" && !Array.isArray(data2))) && (typeof data2 !== "boolean")){
const err3 = {instancePath:instancePath+"/terminal",schemaPath:"#/properties/terminal/type",keyword:"type",params:{type: schema223.properties.terminal.type},schema:schema223.properties.terminal.type,parentSchema:schema223.properties.terminal,data:data2};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const _errs8 = errors;
let valid1 = true;
const _errs9 = errors;
if(!(data2 && typeof data2 == "object" && !Array.isArray(data2))){
const err4 = {};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
var _valid0 = _errs9 === errors;
errors = _errs8;
if(vErrors !== null){
if(_errs8){
vErrors.length = _errs8;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs11 = errors;
if(!(validate142(data2, {instancePath:instancePath+"/terminal",parentData:data,parentDataProperty:"terminal",rootData}))){
vErrors = vErrors === null ? validate142.errors : vErrors.concat(validate142.errors);
errors = vErrors.length;
}
var _valid0 = _errs11 === errors;
valid1 = _valid0;
ifClause0 = "then";
}
else {
const _errs12 = errors;
if(false !== data2){
const err5 = {instancePath:instancePath+"/terminal",schemaPath:"#/properties/terminal/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema223.properties.terminal.else,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
var _valid0 = _errs12 === errors;
valid1 = _valid0;
ifClause0 = "else";
}
if(!valid1){
const err6 = {instancePath:instancePath+"/terminal",schemaPath:"#/properties/terminal/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema223.properties.terminal.if,parentSchema:schema223.properties.terminal,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.maxFile !== undefined){
let data3 = data.maxFile;
if((typeof data3 !== "string") && (!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3))))){
const err7 = {instancePath:instancePath+"/maxFile",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: schema35.type},schema:schema35.type,parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 < 0 || isNaN(data3)){
const err8 = {instancePath:instancePath+"/maxFile",schemaPath:"#/$defs/size/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(typeof data3 === "string"){
if(!pattern12.test(data3)){
const err9 = {instancePath:instancePath+"/maxFile",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(B|KiB|MiB|GiB)$"},schema:"^\\d{1,12}(B|KiB|MiB|GiB)$",parentSchema:schema35,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema223.type,parentSchema:schema223,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate141.errors = vErrors;
return errors === 0;
}


function validate126(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.args === undefined){
data.args = [];
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.capabilities === undefined){
data.capabilities = [];
}
if(data.priority === undefined){
data.priority = 0;
}
if(data.command === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "command"},schema:schema199.required,parentSchema:schema199,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(func2.call(schema199.properties, key0))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema199,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.command !== undefined){
let data0 = data.command;
if(typeof data0 === "string"){
if(data0.length > 4096){
const err2 = {instancePath:instancePath+"/command",schemaPath:"#/properties/command/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema199.properties.command,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/command",schemaPath:"#/properties/command/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema199.properties.command,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/command",schemaPath:"#/properties/command/type",keyword:"type",params:{type: "string"},schema:schema199.properties.command.type,parentSchema:schema199.properties.command,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
let data1 = data.args;
if(Array.isArray(data1)){
const len0 = data1.length;
for(let i0=0; i0<len0; i0++){
let data2 = data1[i0];
if(typeof data2 === "string"){
if(data2.length > 4096){
const err5 = {instancePath:instancePath+"/args/" + i0,schemaPath:"#/properties/args/items/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema199.properties.args.items,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/args/" + i0,schemaPath:"#/properties/args/items/type",keyword:"type",params:{type: "string"},schema:schema199.properties.args.items.type,parentSchema:schema199.properties.args.items,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath:instancePath+"/args",schemaPath:"#/properties/args/type",keyword:"type",params:{type: "array"},schema:schema199.properties.args.type,parentSchema:schema199.properties.args,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
let data3 = data.enabled;
if(typeof data3 !== "boolean"){
const err8 = {instancePath:instancePath+"/enabled",schemaPath:"#/properties/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema199.properties.enabled.type,parentSchema:schema199.properties.enabled,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data.title !== undefined){
let data4 = data.title;
if(typeof data4 === "string"){
if(data4.length > 128){
const err9 = {instancePath:instancePath+"/title",schemaPath:"#/properties/title/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema199.properties.title,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data4.length < 1){
const err10 = {instancePath:instancePath+"/title",schemaPath:"#/properties/title/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema199.properties.title,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/title",schemaPath:"#/properties/title/type",keyword:"type",params:{type: "string"},schema:schema199.properties.title.type,parentSchema:schema199.properties.title,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.description !== undefined){
let data5 = data.description;
if(typeof data5 === "string"){
if(data5.length > 2048){
const err12 = {instancePath:instancePath+"/description",schemaPath:"#/properties/description/maxLength",keyword:"maxLength",params:{limit: 2048},schema:2048,parentSchema:schema199.properties.description,data:data5};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/description",schemaPath:"#/properties/description/type",keyword:"type",params:{type: "string"},schema:schema199.properties.description.type,parentSchema:schema199.properties.description,data:data5};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
let data6 = data.capabilities;
if(Array.isArray(data6)){
const len1 = data6.length;
for(let i1=0; i1<len1; i1++){
let data7 = data6[i1];
if(typeof data7 === "string"){
if(!pattern96.test(data7)){
const err14 = {instancePath:instancePath+"/capabilities/" + i1,schemaPath:"#/properties/capabilities/items/pattern",keyword:"pattern",params:{pattern: "^[a-z0-9][a-z0-9._-]{0,63}$"},schema:"^[a-z0-9][a-z0-9._-]{0,63}$",parentSchema:schema199.properties.capabilities.items,data:data7};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/capabilities/" + i1,schemaPath:"#/properties/capabilities/items/type",keyword:"type",params:{type: "string"},schema:schema199.properties.capabilities.items.type,parentSchema:schema199.properties.capabilities.items,data:data7};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath:instancePath+"/capabilities",schemaPath:"#/properties/capabilities/type",keyword:"type",params:{type: "array"},schema:schema199.properties.capabilities.type,parentSchema:schema199.properties.capabilities,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
let data8 = data.priority;
if(!(((typeof data8 == "number") && (!(data8 % 1) && !isNaN(data8))) && (isFinite(data8)))){
const err17 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/type",keyword:"type",params:{type: "integer"},schema:schema199.properties.priority.type,parentSchema:schema199.properties.priority,data:data8};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if((typeof data8 == "number") && (isFinite(data8))){
if(data8 > 1000 || isNaN(data8)){
const err18 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema199.properties.priority,data:data8};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
if(data8 < -1000 || isNaN(data8)){
const err19 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/minimum",keyword:"minimum",params:{comparison: ">=", limit: -1000},schema:-1000,parentSchema:schema199.properties.priority,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data.auth !== undefined){
if(!(validate127(data.auth, {instancePath:instancePath+"/auth",parentData:data,parentDataProperty:"auth",rootData}))){
vErrors = vErrors === null ? validate127.errors : vErrors.concat(validate127.errors);
errors = vErrors.length;
}
}
if(data.env !== undefined){
let data10 = data.env;
if(data10 && typeof data10 == "object" && !Array.isArray(data10)){
for(const key1 in data10){
let data11 = data10[key1];
if(typeof data11 !== "string"){
const err20 = {instancePath:instancePath+"/env/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/env/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema199.properties.env.additionalProperties.type,parentSchema:schema199.properties.env.additionalProperties,data:data11};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
else {
const err21 = {instancePath:instancePath+"/env",schemaPath:"#/properties/env/type",keyword:"type",params:{type: "object"},schema:schema199.properties.env.type,parentSchema:schema199.properties.env,data:data10};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
if(data.inheritEnv !== undefined){
let data12 = data.inheritEnv;
if(Array.isArray(data12)){
const len2 = data12.length;
for(let i2=0; i2<len2; i2++){
let data13 = data12[i2];
if(typeof data13 === "string"){
if(data13.length < 1){
const err22 = {instancePath:instancePath+"/inheritEnv/" + i2,schemaPath:"#/properties/inheritEnv/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema199.properties.inheritEnv.items,data:data13};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
else {
const err23 = {instancePath:instancePath+"/inheritEnv/" + i2,schemaPath:"#/properties/inheritEnv/items/type",keyword:"type",params:{type: "string"},schema:schema199.properties.inheritEnv.items.type,parentSchema:schema199.properties.inheritEnv.items,data:data13};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
}
else {
const err24 = {instancePath:instancePath+"/inheritEnv",schemaPath:"#/properties/inheritEnv/type",keyword:"type",params:{type: "array"},schema:schema199.properties.inheritEnv.type,parentSchema:schema199.properties.inheritEnv,data:data12};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(data.mode !== undefined){
let data14 = data.mode;
if(typeof data14 === "string"){
if(data14.length > 128){
const err25 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema199.properties.mode,data:data14};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
if(data14.length < 1){
const err26 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema199.properties.mode,data:data14};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
else {
const err27 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/type",keyword:"type",params:{type: "string"},schema:schema199.properties.mode.type,parentSchema:schema199.properties.mode,data:data14};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(data.model !== undefined){
let data15 = data.model;
if(typeof data15 === "string"){
if(data15.length > 128){
const err28 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema199.properties.model,data:data15};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
if(data15.length < 1){
const err29 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema199.properties.model,data:data15};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
else {
const err30 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/type",keyword:"type",params:{type: "string"},schema:schema199.properties.model.type,parentSchema:schema199.properties.model,data:data15};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
if(data.options !== undefined){
let data16 = data.options;
if(data16 && typeof data16 == "object" && !Array.isArray(data16)){
for(const key2 in data16){
let data17 = data16[key2];
if((typeof data17 !== "string") && (typeof data17 !== "boolean")){
const err31 = {instancePath:instancePath+"/options/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/options/additionalProperties/type",keyword:"type",params:{type: schema199.properties.options.additionalProperties.type},schema:schema199.properties.options.additionalProperties.type,parentSchema:schema199.properties.options.additionalProperties,data:data17};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
}
else {
const err32 = {instancePath:instancePath+"/options",schemaPath:"#/properties/options/type",keyword:"type",params:{type: "object"},schema:schema199.properties.options.type,parentSchema:schema199.properties.options,data:data16};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
}
if(data.limits !== undefined){
if(!(validate129(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate129.errors : vErrors.concat(validate129.errors);
errors = vErrors.length;
}
}
if(data.timeouts !== undefined){
if(!(validate131(data.timeouts, {instancePath:instancePath+"/timeouts",parentData:data,parentDataProperty:"timeouts",rootData}))){
vErrors = vErrors === null ? validate131.errors : vErrors.concat(validate131.errors);
errors = vErrors.length;
}
}
if(data.pool !== undefined){
if(!(validate133(data.pool, {instancePath:instancePath+"/pool",parentData:data,parentDataProperty:"pool",rootData}))){
vErrors = vErrors === null ? validate133.errors : vErrors.concat(validate133.errors);
errors = vErrors.length;
}
}
if(data.permissions !== undefined){
if(!(validate135(data.permissions, {instancePath:instancePath+"/permissions",parentData:data,parentDataProperty:"permissions",rootData}))){
vErrors = vErrors === null ? validate135.errors : vErrors.concat(validate135.errors);
errors = vErrors.length;
}
}
if(data.output !== undefined){
if(!(validate139(data.output, {instancePath:instancePath+"/output",parentData:data,parentDataProperty:"output",rootData}))){
vErrors = vErrors === null ? validate139.errors : vErrors.concat(validate139.errors);
errors = vErrors.length;
}
}
if(data.client !== undefined){
if(!(validate141(data.client, {instancePath:instancePath+"/client",parentData:data,parentDataProperty:"client",rootData}))){
vErrors = vErrors === null ? validate141.errors : vErrors.concat(validate141.errors);
errors = vErrors.length;
}
}
if(data.callback !== undefined){
let data24 = data.callback;
if((!(data24 && typeof data24 == "object" && !Array.isArray(data24))) && (typeof data24 !== "boolean")){
const err33 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/type",keyword:"type",params:{type: schema199.properties.callback.type},schema:schema199.properties.callback.type,parentSchema:schema199.properties.callback,data:data24};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
const _errs47 = errors;
let valid9 = true;
const _errs48 = errors;
if(!(data24 && typeof data24 == "object" && !Array.isArray(data24))){
const err34 = {};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
var _valid0 = _errs48 === errors;
errors = _errs47;
if(vErrors !== null){
if(_errs47){
vErrors.length = _errs47;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs50 = errors;
if(data24 && typeof data24 == "object" && !Array.isArray(data24)){
if(data24.tools === undefined){
data24.tools = ["*"];
}
if(data24.maxDepth === undefined){
data24.maxDepth = 1;
}
if(data24.maxTasks === undefined){
data24.maxTasks = 8;
}
for(const key3 in data24){
if(!(((key3 === "tools") || (key3 === "maxDepth")) || (key3 === "maxTasks"))){
const err35 = {instancePath:instancePath+"/callback",schemaPath:"#/$defs/AgentCallbackConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema228,data:data24};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
let data25 = data24.tools;
if(Array.isArray(data25)){
const len3 = data25.length;
for(let i3=0; i3<len3; i3++){
let data26 = data25[i3];
if(typeof data26 === "string"){
if(data26.length < 1){
const err36 = {instancePath:instancePath+"/callback/tools/" + i3,schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema228.properties.tools.items,data:data26};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
}
else {
const err37 = {instancePath:instancePath+"/callback/tools/" + i3,schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/items/type",keyword:"type",params:{type: "string"},schema:schema228.properties.tools.items.type,parentSchema:schema228.properties.tools.items,data:data26};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
}
else {
const err38 = {instancePath:instancePath+"/callback/tools",schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/type",keyword:"type",params:{type: "array"},schema:schema228.properties.tools.type,parentSchema:schema228.properties.tools,data:data25};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
let data27 = data24.maxDepth;
if(!(((typeof data27 == "number") && (!(data27 % 1) && !isNaN(data27))) && (isFinite(data27)))){
const err39 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/type",keyword:"type",params:{type: "integer"},schema:schema228.properties.maxDepth.type,parentSchema:schema228.properties.maxDepth,data:data27};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
if((typeof data27 == "number") && (isFinite(data27))){
if(data27 > 8 || isNaN(data27)){
const err40 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/maximum",keyword:"maximum",params:{comparison: "<=", limit: 8},schema:8,parentSchema:schema228.properties.maxDepth,data:data27};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
if(data27 < 0 || isNaN(data27)){
const err41 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema228.properties.maxDepth,data:data27};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
let data28 = data24.maxTasks;
if(!(((typeof data28 == "number") && (!(data28 % 1) && !isNaN(data28))) && (isFinite(data28)))){
const err42 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/type",keyword:"type",params:{type: "integer"},schema:schema228.properties.maxTasks.type,parentSchema:schema228.properties.maxTasks,data:data28};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
if((typeof data28 == "number") && (isFinite(data28))){
if(data28 > 1000 || isNaN(data28)){
const err43 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema228.properties.maxTasks,data:data28};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
if(data28 < 0 || isNaN(data28)){
const err44 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema228.properties.maxTasks,data:data28};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
}
else {
const err45 = {instancePath:instancePath+"/callback",schemaPath:"#/$defs/AgentCallbackConfig/type",keyword:"type",params:{type: "object"},schema:schema228.type,parentSchema:schema228,data:data24};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
var _valid0 = _errs50 === errors;
valid9 = _valid0;
ifClause0 = "then";
}
else {
const _errs62 = errors;
if(typeof data24 !== "boolean"){
const err46 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/else/type",keyword:"type",params:{type: "boolean"},schema:schema199.properties.callback.else.type,parentSchema:schema199.properties.callback.else,data:data24};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
var _valid0 = _errs62 === errors;
valid9 = _valid0;
ifClause0 = "else";
}
if(!valid9){
const err47 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema199.properties.callback.if,parentSchema:schema199.properties.callback,data:data24};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
if(data.isolation !== undefined){
let data29 = data.isolation;
if(!((data29 === "none") || (data29 === "worktree"))){
const err48 = {instancePath:instancePath+"/isolation",schemaPath:"#/properties/isolation/enum",keyword:"enum",params:{allowedValues: schema199.properties.isolation.enum},schema:schema199.properties.isolation.enum,parentSchema:schema199.properties.isolation,data:data29};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
}
if(data.sandbox !== undefined){
let data30 = data.sandbox;
if((!(data30 && typeof data30 == "object" && !Array.isArray(data30))) && (typeof data30 !== "string")){
const err49 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/type",keyword:"type",params:{type: schema199.properties.sandbox.type},schema:schema199.properties.sandbox.type,parentSchema:schema199.properties.sandbox,data:data30};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
const _errs67 = errors;
let valid14 = true;
const _errs68 = errors;
if(!(data30 && typeof data30 == "object" && !Array.isArray(data30))){
const err50 = {};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
var _valid1 = _errs68 === errors;
errors = _errs67;
if(vErrors !== null){
if(_errs67){
vErrors.length = _errs67;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid1){
const _errs70 = errors;
if(data30 && typeof data30 == "object" && !Array.isArray(data30)){
if(data30.read === undefined){
data30.read = [];
}
if(data30.write === undefined){
data30.write = [];
}
if(data30.network === undefined){
data30.network = false;
}
if(data30.hide === undefined){
data30.hide = [];
}
if(data30.type === undefined){
const err51 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/required",keyword:"required",params:{missingProperty: "type"},schema:schema49.required,parentSchema:schema49,data:data30};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
for(const key4 in data30){
if(!(((((key4 === "type") || (key4 === "read")) || (key4 === "write")) || (key4 === "network")) || (key4 === "hide"))){
const err52 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4},schema:false,parentSchema:schema49,data:data30};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(data30.type !== undefined){
let data31 = data30.type;
if(typeof data31 !== "string"){
const err53 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/type",keyword:"type",params:{type: "string"},schema:schema49.properties.type.type,parentSchema:schema49.properties.type,data:data31};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
if("bwrap" !== data31){
const err54 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema49.properties.type,data:data31};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
}
let data32 = data30.read;
if(Array.isArray(data32)){
const len4 = data32.length;
for(let i4=0; i4<len4; i4++){
let data33 = data32[i4];
if(typeof data33 === "string"){
if(data33.length < 1){
const err55 = {instancePath:instancePath+"/sandbox/read/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/read/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.read.items,data:data33};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
else {
const err56 = {instancePath:instancePath+"/sandbox/read/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/read/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.read.items.type,parentSchema:schema49.properties.read.items,data:data33};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
}
else {
const err57 = {instancePath:instancePath+"/sandbox/read",schemaPath:"#/$defs/SandboxConfig/properties/read/type",keyword:"type",params:{type: "array"},schema:schema49.properties.read.type,parentSchema:schema49.properties.read,data:data32};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
let data34 = data30.write;
if(Array.isArray(data34)){
const len5 = data34.length;
for(let i5=0; i5<len5; i5++){
let data35 = data34[i5];
if(typeof data35 === "string"){
if(data35.length < 1){
const err58 = {instancePath:instancePath+"/sandbox/write/" + i5,schemaPath:"#/$defs/SandboxConfig/properties/write/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.write.items,data:data35};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
}
else {
const err59 = {instancePath:instancePath+"/sandbox/write/" + i5,schemaPath:"#/$defs/SandboxConfig/properties/write/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.write.items.type,parentSchema:schema49.properties.write.items,data:data35};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
}
}
else {
const err60 = {instancePath:instancePath+"/sandbox/write",schemaPath:"#/$defs/SandboxConfig/properties/write/type",keyword:"type",params:{type: "array"},schema:schema49.properties.write.type,parentSchema:schema49.properties.write,data:data34};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
let data36 = data30.network;
if(typeof data36 !== "boolean"){
const err61 = {instancePath:instancePath+"/sandbox/network",schemaPath:"#/$defs/SandboxConfig/properties/network/type",keyword:"type",params:{type: "boolean"},schema:schema49.properties.network.type,parentSchema:schema49.properties.network,data:data36};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
let data37 = data30.hide;
if(Array.isArray(data37)){
const len6 = data37.length;
for(let i6=0; i6<len6; i6++){
let data38 = data37[i6];
if(typeof data38 === "string"){
if(data38.length < 1){
const err62 = {instancePath:instancePath+"/sandbox/hide/" + i6,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.hide.items,data:data38};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
}
else {
const err63 = {instancePath:instancePath+"/sandbox/hide/" + i6,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.hide.items.type,parentSchema:schema49.properties.hide.items,data:data38};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
}
}
else {
const err64 = {instancePath:instancePath+"/sandbox/hide",schemaPath:"#/$defs/SandboxConfig/properties/hide/type",keyword:"type",params:{type: "array"},schema:schema49.properties.hide.type,parentSchema:schema49.properties.hide,data:data37};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
}
else {
const err65 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/type",keyword:"type",params:{type: "object"},schema:schema49.type,parentSchema:schema49,data:data30};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
var _valid1 = _errs70 === errors;
valid14 = _valid1;
ifClause1 = "then";
}
else {
const _errs90 = errors;
if("bwrap" !== data30){
const err66 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/else/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema199.properties.sandbox.else,data:data30};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
var _valid1 = _errs90 === errors;
valid14 = _valid1;
ifClause1 = "else";
}
if(!valid14){
const err67 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/if",keyword:"if",params:{failingKeyword: ifClause1},schema:schema199.properties.sandbox.if,parentSchema:schema199.properties.sandbox,data:data30};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
if(data.ceilings !== undefined){
if(!(validate29(data.ceilings, {instancePath:instancePath+"/ceilings",parentData:data,parentDataProperty:"ceilings",rootData}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
}
else {
const err68 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema199.type,parentSchema:schema199,data};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
validate126.errors = vErrors;
return errors === 0;
}

const schema230 = {"type":"object","additionalProperties":false,"properties":{"env":{"type":"object","additionalProperties":{"type":"string","x-secret":true}},"inheritEnv":{"type":"array","items":{"type":"string","minLength":1}},"mode":{"type":"string","minLength":1,"maxLength":128},"model":{"type":"string","minLength":1,"maxLength":128},"options":{"type":"object","additionalProperties":{"type":["string","boolean"]}},"limits":{"$ref":"#/$defs/AgentLimitsConfig"},"timeouts":{"$ref":"#/$defs/AgentTimeoutsConfig"},"pool":{"$ref":"#/$defs/AgentPoolConfig"},"permissions":{"$ref":"#/$defs/AgentPermissionsConfig"},"output":{"$ref":"#/$defs/AgentOutputConfig"},"client":{"$ref":"#/$defs/AgentClientConfig"},"callback":{"type":["object","boolean"],"if":{"type":"object"},"then":{"$ref":"#/$defs/AgentCallbackConfig"},"else":{"type":"boolean"}},"isolation":{"enum":["none","worktree"]},"sandbox":{"type":["object","string"],"if":{"type":"object"},"then":{"$ref":"#/$defs/SandboxConfig"},"else":{"const":"bwrap","x-says":"a map or bwrap"}},"ceilings":{"$ref":"#/$defs/CeilingsConfig"}}};

function validate147(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(func2.call(schema230.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema230,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.env !== undefined){
let data0 = data.env;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
for(const key1 in data0){
let data1 = data0[key1];
if(typeof data1 !== "string"){
const err1 = {instancePath:instancePath+"/env/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/env/additionalProperties/type",keyword:"type",params:{type: "string"},schema:schema230.properties.env.additionalProperties.type,parentSchema:schema230.properties.env.additionalProperties,data:data1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
}
else {
const err2 = {instancePath:instancePath+"/env",schemaPath:"#/properties/env/type",keyword:"type",params:{type: "object"},schema:schema230.properties.env.type,parentSchema:schema230.properties.env,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.inheritEnv !== undefined){
let data2 = data.inheritEnv;
if(Array.isArray(data2)){
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 === "string"){
if(data3.length < 1){
const err3 = {instancePath:instancePath+"/inheritEnv/" + i0,schemaPath:"#/properties/inheritEnv/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema230.properties.inheritEnv.items,data:data3};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/inheritEnv/" + i0,schemaPath:"#/properties/inheritEnv/items/type",keyword:"type",params:{type: "string"},schema:schema230.properties.inheritEnv.items.type,parentSchema:schema230.properties.inheritEnv.items,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
else {
const err5 = {instancePath:instancePath+"/inheritEnv",schemaPath:"#/properties/inheritEnv/type",keyword:"type",params:{type: "array"},schema:schema230.properties.inheritEnv.type,parentSchema:schema230.properties.inheritEnv,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.mode !== undefined){
let data4 = data.mode;
if(typeof data4 === "string"){
if(data4.length > 128){
const err6 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema230.properties.mode,data:data4};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data4.length < 1){
const err7 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema230.properties.mode,data:data4};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/type",keyword:"type",params:{type: "string"},schema:schema230.properties.mode.type,parentSchema:schema230.properties.mode,data:data4};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.model !== undefined){
let data5 = data.model;
if(typeof data5 === "string"){
if(data5.length > 128){
const err9 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema230.properties.model,data:data5};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data5.length < 1){
const err10 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema230.properties.model,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/model",schemaPath:"#/properties/model/type",keyword:"type",params:{type: "string"},schema:schema230.properties.model.type,parentSchema:schema230.properties.model,data:data5};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.options !== undefined){
let data6 = data.options;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key2 in data6){
let data7 = data6[key2];
if((typeof data7 !== "string") && (typeof data7 !== "boolean")){
const err12 = {instancePath:instancePath+"/options/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/options/additionalProperties/type",keyword:"type",params:{type: schema230.properties.options.additionalProperties.type},schema:schema230.properties.options.additionalProperties.type,parentSchema:schema230.properties.options.additionalProperties,data:data7};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/options",schemaPath:"#/properties/options/type",keyword:"type",params:{type: "object"},schema:schema230.properties.options.type,parentSchema:schema230.properties.options,data:data6};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(data.limits !== undefined){
if(!(validate129(data.limits, {instancePath:instancePath+"/limits",parentData:data,parentDataProperty:"limits",rootData}))){
vErrors = vErrors === null ? validate129.errors : vErrors.concat(validate129.errors);
errors = vErrors.length;
}
}
if(data.timeouts !== undefined){
if(!(validate131(data.timeouts, {instancePath:instancePath+"/timeouts",parentData:data,parentDataProperty:"timeouts",rootData}))){
vErrors = vErrors === null ? validate131.errors : vErrors.concat(validate131.errors);
errors = vErrors.length;
}
}
if(data.pool !== undefined){
if(!(validate133(data.pool, {instancePath:instancePath+"/pool",parentData:data,parentDataProperty:"pool",rootData}))){
vErrors = vErrors === null ? validate133.errors : vErrors.concat(validate133.errors);
errors = vErrors.length;
}
}
if(data.permissions !== undefined){
if(!(validate135(data.permissions, {instancePath:instancePath+"/permissions",parentData:data,parentDataProperty:"permissions",rootData}))){
vErrors = vErrors === null ? validate135.errors : vErrors.concat(validate135.errors);
errors = vErrors.length;
}
}
if(data.output !== undefined){
if(!(validate139(data.output, {instancePath:instancePath+"/output",parentData:data,parentDataProperty:"output",rootData}))){
vErrors = vErrors === null ? validate139.errors : vErrors.concat(validate139.errors);
errors = vErrors.length;
}
}
if(data.client !== undefined){
if(!(validate141(data.client, {instancePath:instancePath+"/client",parentData:data,parentDataProperty:"client",rootData}))){
vErrors = vErrors === null ? validate141.errors : vErrors.concat(validate141.errors);
errors = vErrors.length;
}
}
if(data.callback !== undefined){
let data14 = data.callback;
if((!(data14 && typeof data14 == "object" && !Array.isArray(data14))) && (typeof data14 !== "boolean")){
const err14 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/type",keyword:"type",params:{type: schema230.properties.callback.type},schema:schema230.properties.callback.type,parentSchema:schema230.properties.callback,data:data14};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
const _errs28 = errors;
let valid5 = true;
const _errs29 = errors;
if(!(data14 && typeof data14 == "object" && !Array.isArray(data14))){
const err15 = {};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
var _valid0 = _errs29 === errors;
errors = _errs28;
if(vErrors !== null){
if(_errs28){
vErrors.length = _errs28;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs31 = errors;
if(data14 && typeof data14 == "object" && !Array.isArray(data14)){
if(data14.tools === undefined){
data14.tools = ["*"];
}
if(data14.maxDepth === undefined){
data14.maxDepth = 1;
}
if(data14.maxTasks === undefined){
data14.maxTasks = 8;
}
for(const key3 in data14){
if(!(((key3 === "tools") || (key3 === "maxDepth")) || (key3 === "maxTasks"))){
const err16 = {instancePath:instancePath+"/callback",schemaPath:"#/$defs/AgentCallbackConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema228,data:data14};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
let data15 = data14.tools;
if(Array.isArray(data15)){
const len1 = data15.length;
for(let i1=0; i1<len1; i1++){
let data16 = data15[i1];
if(typeof data16 === "string"){
if(data16.length < 1){
const err17 = {instancePath:instancePath+"/callback/tools/" + i1,schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema228.properties.tools.items,data:data16};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/callback/tools/" + i1,schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/items/type",keyword:"type",params:{type: "string"},schema:schema228.properties.tools.items.type,parentSchema:schema228.properties.tools.items,data:data16};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
else {
const err19 = {instancePath:instancePath+"/callback/tools",schemaPath:"#/$defs/AgentCallbackConfig/properties/tools/type",keyword:"type",params:{type: "array"},schema:schema228.properties.tools.type,parentSchema:schema228.properties.tools,data:data15};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
let data17 = data14.maxDepth;
if(!(((typeof data17 == "number") && (!(data17 % 1) && !isNaN(data17))) && (isFinite(data17)))){
const err20 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/type",keyword:"type",params:{type: "integer"},schema:schema228.properties.maxDepth.type,parentSchema:schema228.properties.maxDepth,data:data17};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
if((typeof data17 == "number") && (isFinite(data17))){
if(data17 > 8 || isNaN(data17)){
const err21 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/maximum",keyword:"maximum",params:{comparison: "<=", limit: 8},schema:8,parentSchema:schema228.properties.maxDepth,data:data17};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
if(data17 < 0 || isNaN(data17)){
const err22 = {instancePath:instancePath+"/callback/maxDepth",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxDepth/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema228.properties.maxDepth,data:data17};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
let data18 = data14.maxTasks;
if(!(((typeof data18 == "number") && (!(data18 % 1) && !isNaN(data18))) && (isFinite(data18)))){
const err23 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/type",keyword:"type",params:{type: "integer"},schema:schema228.properties.maxTasks.type,parentSchema:schema228.properties.maxTasks,data:data18};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
if((typeof data18 == "number") && (isFinite(data18))){
if(data18 > 1000 || isNaN(data18)){
const err24 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema228.properties.maxTasks,data:data18};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
if(data18 < 0 || isNaN(data18)){
const err25 = {instancePath:instancePath+"/callback/maxTasks",schemaPath:"#/$defs/AgentCallbackConfig/properties/maxTasks/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema228.properties.maxTasks,data:data18};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
}
else {
const err26 = {instancePath:instancePath+"/callback",schemaPath:"#/$defs/AgentCallbackConfig/type",keyword:"type",params:{type: "object"},schema:schema228.type,parentSchema:schema228,data:data14};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
var _valid0 = _errs31 === errors;
valid5 = _valid0;
ifClause0 = "then";
}
else {
const _errs43 = errors;
if(typeof data14 !== "boolean"){
const err27 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/else/type",keyword:"type",params:{type: "boolean"},schema:schema230.properties.callback.else.type,parentSchema:schema230.properties.callback.else,data:data14};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
var _valid0 = _errs43 === errors;
valid5 = _valid0;
ifClause0 = "else";
}
if(!valid5){
const err28 = {instancePath:instancePath+"/callback",schemaPath:"#/properties/callback/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema230.properties.callback.if,parentSchema:schema230.properties.callback,data:data14};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
if(data.isolation !== undefined){
let data19 = data.isolation;
if(!((data19 === "none") || (data19 === "worktree"))){
const err29 = {instancePath:instancePath+"/isolation",schemaPath:"#/properties/isolation/enum",keyword:"enum",params:{allowedValues: schema230.properties.isolation.enum},schema:schema230.properties.isolation.enum,parentSchema:schema230.properties.isolation,data:data19};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
if(data.sandbox !== undefined){
let data20 = data.sandbox;
if((!(data20 && typeof data20 == "object" && !Array.isArray(data20))) && (typeof data20 !== "string")){
const err30 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/type",keyword:"type",params:{type: schema230.properties.sandbox.type},schema:schema230.properties.sandbox.type,parentSchema:schema230.properties.sandbox,data:data20};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
const _errs48 = errors;
let valid10 = true;
const _errs49 = errors;
if(!(data20 && typeof data20 == "object" && !Array.isArray(data20))){
const err31 = {};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
var _valid1 = _errs49 === errors;
errors = _errs48;
if(vErrors !== null){
if(_errs48){
vErrors.length = _errs48;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid1){
const _errs51 = errors;
if(data20 && typeof data20 == "object" && !Array.isArray(data20)){
if(data20.read === undefined){
data20.read = [];
}
if(data20.write === undefined){
data20.write = [];
}
if(data20.network === undefined){
data20.network = false;
}
if(data20.hide === undefined){
data20.hide = [];
}
if(data20.type === undefined){
const err32 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/required",keyword:"required",params:{missingProperty: "type"},schema:schema49.required,parentSchema:schema49,data:data20};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
for(const key4 in data20){
if(!(((((key4 === "type") || (key4 === "read")) || (key4 === "write")) || (key4 === "network")) || (key4 === "hide"))){
const err33 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4},schema:false,parentSchema:schema49,data:data20};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
if(data20.type !== undefined){
let data21 = data20.type;
if(typeof data21 !== "string"){
const err34 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/type",keyword:"type",params:{type: "string"},schema:schema49.properties.type.type,parentSchema:schema49.properties.type,data:data21};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
if("bwrap" !== data21){
const err35 = {instancePath:instancePath+"/sandbox/type",schemaPath:"#/$defs/SandboxConfig/properties/type/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema49.properties.type,data:data21};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
let data22 = data20.read;
if(Array.isArray(data22)){
const len2 = data22.length;
for(let i2=0; i2<len2; i2++){
let data23 = data22[i2];
if(typeof data23 === "string"){
if(data23.length < 1){
const err36 = {instancePath:instancePath+"/sandbox/read/" + i2,schemaPath:"#/$defs/SandboxConfig/properties/read/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.read.items,data:data23};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
}
else {
const err37 = {instancePath:instancePath+"/sandbox/read/" + i2,schemaPath:"#/$defs/SandboxConfig/properties/read/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.read.items.type,parentSchema:schema49.properties.read.items,data:data23};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
}
else {
const err38 = {instancePath:instancePath+"/sandbox/read",schemaPath:"#/$defs/SandboxConfig/properties/read/type",keyword:"type",params:{type: "array"},schema:schema49.properties.read.type,parentSchema:schema49.properties.read,data:data22};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
let data24 = data20.write;
if(Array.isArray(data24)){
const len3 = data24.length;
for(let i3=0; i3<len3; i3++){
let data25 = data24[i3];
if(typeof data25 === "string"){
if(data25.length < 1){
const err39 = {instancePath:instancePath+"/sandbox/write/" + i3,schemaPath:"#/$defs/SandboxConfig/properties/write/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.write.items,data:data25};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
}
else {
const err40 = {instancePath:instancePath+"/sandbox/write/" + i3,schemaPath:"#/$defs/SandboxConfig/properties/write/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.write.items.type,parentSchema:schema49.properties.write.items,data:data25};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
}
else {
const err41 = {instancePath:instancePath+"/sandbox/write",schemaPath:"#/$defs/SandboxConfig/properties/write/type",keyword:"type",params:{type: "array"},schema:schema49.properties.write.type,parentSchema:schema49.properties.write,data:data24};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
let data26 = data20.network;
if(typeof data26 !== "boolean"){
const err42 = {instancePath:instancePath+"/sandbox/network",schemaPath:"#/$defs/SandboxConfig/properties/network/type",keyword:"type",params:{type: "boolean"},schema:schema49.properties.network.type,parentSchema:schema49.properties.network,data:data26};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
let data27 = data20.hide;
if(Array.isArray(data27)){
const len4 = data27.length;
for(let i4=0; i4<len4; i4++){
let data28 = data27[i4];
if(typeof data28 === "string"){
if(data28.length < 1){
const err43 = {instancePath:instancePath+"/sandbox/hide/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema49.properties.hide.items,data:data28};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
else {
const err44 = {instancePath:instancePath+"/sandbox/hide/" + i4,schemaPath:"#/$defs/SandboxConfig/properties/hide/items/type",keyword:"type",params:{type: "string"},schema:schema49.properties.hide.items.type,parentSchema:schema49.properties.hide.items,data:data28};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
}
else {
const err45 = {instancePath:instancePath+"/sandbox/hide",schemaPath:"#/$defs/SandboxConfig/properties/hide/type",keyword:"type",params:{type: "array"},schema:schema49.properties.hide.type,parentSchema:schema49.properties.hide,data:data27};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
}
else {
const err46 = {instancePath:instancePath+"/sandbox",schemaPath:"#/$defs/SandboxConfig/type",keyword:"type",params:{type: "object"},schema:schema49.type,parentSchema:schema49,data:data20};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
var _valid1 = _errs51 === errors;
valid10 = _valid1;
ifClause1 = "then";
}
else {
const _errs71 = errors;
if("bwrap" !== data20){
const err47 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/else/const",keyword:"const",params:{allowedValue: "bwrap"},schema:"bwrap",parentSchema:schema230.properties.sandbox.else,data:data20};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
var _valid1 = _errs71 === errors;
valid10 = _valid1;
ifClause1 = "else";
}
if(!valid10){
const err48 = {instancePath:instancePath+"/sandbox",schemaPath:"#/properties/sandbox/if",keyword:"if",params:{failingKeyword: ifClause1},schema:schema230.properties.sandbox.if,parentSchema:schema230.properties.sandbox,data:data20};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
}
if(data.ceilings !== undefined){
if(!(validate29(data.ceilings, {instancePath:instancePath+"/ceilings",parentData:data,parentDataProperty:"ceilings",rootData}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
}
else {
const err49 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema230.type,parentSchema:schema230,data};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
validate147.errors = vErrors;
return errors === 0;
}

const schema234 = {"type":"object","additionalProperties":false,"properties":{"rules":{"type":"array","items":{"$ref":"#/$defs/AgentRoutingRuleConfig"},"maxItems":256},"default":{"type":"array","items":{"$ref":"#/$defs/name"}}}};
const schema235 = {"type":"object","additionalProperties":false,"required":["prefer"],"properties":{"id":{"type":"string","minLength":1,"maxLength":64},"taskTypes":{"type":"array","items":{"type":"string","minLength":1,"maxLength":64},"minItems":1},"keywords":{"type":"array","items":{"type":"string","minLength":1,"maxLength":256},"minItems":1},"principals":{"$ref":"#/$defs/globs"},"prefer":{"description":"Agents in order of preference.","type":"array","items":{"$ref":"#/$defs/name"},"minItems":1},"priority":{"type":"integer","minimum":-1000,"maximum":1000},"only":{"type":"boolean"}}};

function validate157(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.only === undefined){
data.only = false;
}
if(data.prefer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "prefer"},schema:schema235.required,parentSchema:schema235,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((((((key0 === "id") || (key0 === "taskTypes")) || (key0 === "keywords")) || (key0 === "principals")) || (key0 === "prefer")) || (key0 === "priority")) || (key0 === "only"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema235,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.id !== undefined){
let data0 = data.id;
if(typeof data0 === "string"){
if(data0.length > 64){
const err2 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/maxLength",keyword:"maxLength",params:{limit: 64},schema:64,parentSchema:schema235.properties.id,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema235.properties.id,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},schema:schema235.properties.id.type,parentSchema:schema235.properties.id,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.taskTypes !== undefined){
let data1 = data.taskTypes;
if(Array.isArray(data1)){
if(data1.length < 1){
const err5 = {instancePath:instancePath+"/taskTypes",schemaPath:"#/properties/taskTypes/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema235.properties.taskTypes,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
const len0 = data1.length;
for(let i0=0; i0<len0; i0++){
let data2 = data1[i0];
if(typeof data2 === "string"){
if(data2.length > 64){
const err6 = {instancePath:instancePath+"/taskTypes/" + i0,schemaPath:"#/properties/taskTypes/items/maxLength",keyword:"maxLength",params:{limit: 64},schema:64,parentSchema:schema235.properties.taskTypes.items,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
if(data2.length < 1){
const err7 = {instancePath:instancePath+"/taskTypes/" + i0,schemaPath:"#/properties/taskTypes/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema235.properties.taskTypes.items,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/taskTypes/" + i0,schemaPath:"#/properties/taskTypes/items/type",keyword:"type",params:{type: "string"},schema:schema235.properties.taskTypes.items.type,parentSchema:schema235.properties.taskTypes.items,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/taskTypes",schemaPath:"#/properties/taskTypes/type",keyword:"type",params:{type: "array"},schema:schema235.properties.taskTypes.type,parentSchema:schema235.properties.taskTypes,data:data1};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.keywords !== undefined){
let data3 = data.keywords;
if(Array.isArray(data3)){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/keywords",schemaPath:"#/properties/keywords/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema235.properties.keywords,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
const len1 = data3.length;
for(let i1=0; i1<len1; i1++){
let data4 = data3[i1];
if(typeof data4 === "string"){
if(data4.length > 256){
const err11 = {instancePath:instancePath+"/keywords/" + i1,schemaPath:"#/properties/keywords/items/maxLength",keyword:"maxLength",params:{limit: 256},schema:256,parentSchema:schema235.properties.keywords.items,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data4.length < 1){
const err12 = {instancePath:instancePath+"/keywords/" + i1,schemaPath:"#/properties/keywords/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema235.properties.keywords.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/keywords/" + i1,schemaPath:"#/properties/keywords/items/type",keyword:"type",params:{type: "string"},schema:schema235.properties.keywords.items.type,parentSchema:schema235.properties.keywords.items,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/keywords",schemaPath:"#/properties/keywords/type",keyword:"type",params:{type: "array"},schema:schema235.properties.keywords.type,parentSchema:schema235.properties.keywords,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.principals !== undefined){
let data5 = data.principals;
if((typeof data5 !== "string") && (!(Array.isArray(data5)))){
const err15 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/type",keyword:"type",params:{type: schema152.type},schema:schema152.type,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
if(typeof data5 === "string"){
if(data5.length < 1){
const err16 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(Array.isArray(data5)){
if(data5.length < 1){
const err17 = {instancePath:instancePath+"/principals",schemaPath:"#/$defs/globs/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema152,data:data5};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
const len2 = data5.length;
for(let i2=0; i2<len2; i2++){
let data6 = data5[i2];
if(typeof data6 === "string"){
if(data6.length < 1){
const err18 = {instancePath:instancePath+"/principals/" + i2,schemaPath:"#/$defs/globs/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
else {
const err19 = {instancePath:instancePath+"/principals/" + i2,schemaPath:"#/$defs/globs/items/type",keyword:"type",params:{type: "string"},schema:schema152.items.type,parentSchema:schema152.items,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
}
}
if(data.prefer !== undefined){
let data7 = data.prefer;
if(Array.isArray(data7)){
if(data7.length < 1){
const err20 = {instancePath:instancePath+"/prefer",schemaPath:"#/properties/prefer/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema235.properties.prefer,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
const len3 = data7.length;
for(let i3=0; i3<len3; i3++){
let data8 = data7[i3];
if(typeof data8 === "string"){
if(!pattern6.test(data8)){
const err21 = {instancePath:instancePath+"/prefer/" + i3,schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:data8};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
else {
const err22 = {instancePath:instancePath+"/prefer/" + i3,schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
}
else {
const err23 = {instancePath:instancePath+"/prefer",schemaPath:"#/properties/prefer/type",keyword:"type",params:{type: "array"},schema:schema235.properties.prefer.type,parentSchema:schema235.properties.prefer,data:data7};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(data.priority !== undefined){
let data9 = data.priority;
if(!(((typeof data9 == "number") && (!(data9 % 1) && !isNaN(data9))) && (isFinite(data9)))){
const err24 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/type",keyword:"type",params:{type: "integer"},schema:schema235.properties.priority.type,parentSchema:schema235.properties.priority,data:data9};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
if((typeof data9 == "number") && (isFinite(data9))){
if(data9 > 1000 || isNaN(data9)){
const err25 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema235.properties.priority,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
if(data9 < -1000 || isNaN(data9)){
const err26 = {instancePath:instancePath+"/priority",schemaPath:"#/properties/priority/minimum",keyword:"minimum",params:{comparison: ">=", limit: -1000},schema:-1000,parentSchema:schema235.properties.priority,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
}
let data10 = data.only;
if(typeof data10 !== "boolean"){
const err27 = {instancePath:instancePath+"/only",schemaPath:"#/properties/only/type",keyword:"type",params:{type: "boolean"},schema:schema235.properties.only.type,parentSchema:schema235.properties.only,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
else {
const err28 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema235.type,parentSchema:schema235,data};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
validate157.errors = vErrors;
return errors === 0;
}


function validate156(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.rules === undefined){
data.rules = [];
}
if(data.default === undefined){
data.default = [];
}
for(const key0 in data){
if(!((key0 === "rules") || (key0 === "default"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema234,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.rules;
if(Array.isArray(data0)){
if(data0.length > 256){
const err1 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/maxItems",keyword:"maxItems",params:{limit: 256},schema:256,parentSchema:schema234.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
if(!(validate157(data0[i0], {instancePath:instancePath+"/rules/" + i0,parentData:data0,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate157.errors : vErrors.concat(validate157.errors);
errors = vErrors.length;
}
}
}
else {
const err2 = {instancePath:instancePath+"/rules",schemaPath:"#/properties/rules/type",keyword:"type",params:{type: "array"},schema:schema234.properties.rules.type,parentSchema:schema234.properties.rules,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
let data2 = data.default;
if(Array.isArray(data2)){
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(typeof data3 === "string"){
if(!pattern6.test(data3)){
const err3 = {instancePath:instancePath+"/default/" + i1,schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:data3};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/default/" + i1,schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
else {
const err5 = {instancePath:instancePath+"/default",schemaPath:"#/properties/default/type",keyword:"type",params:{type: "array"},schema:schema234.properties.default.type,parentSchema:schema234.properties.default,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema234.type,parentSchema:schema234,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
validate156.errors = vErrors;
return errors === 0;
}

const schema239 = {"type":"object","additionalProperties":false,"properties":{"file":{"x-private":"file","type":"string","minLength":1,"maxLength":4096},"ttl":{"$ref":"#/$defs/duration"},"max":{"type":"integer","minimum":1,"maximum":1000000},"maxPerCaller":{"type":"integer","minimum":1,"maximum":10000},"keepPrompt":{"type":"boolean"}}};

function validate160(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.max === undefined){
data.max = 10000;
}
if(data.maxPerCaller === undefined){
data.maxPerCaller = 64;
}
if(data.keepPrompt === undefined){
data.keepPrompt = true;
}
for(const key0 in data){
if(!(((((key0 === "file") || (key0 === "ttl")) || (key0 === "max")) || (key0 === "maxPerCaller")) || (key0 === "keepPrompt"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema239,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.file !== undefined){
let data0 = data.file;
if(typeof data0 === "string"){
if(data0.length > 4096){
const err1 = {instancePath:instancePath+"/file",schemaPath:"#/properties/file/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema239.properties.file,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/file",schemaPath:"#/properties/file/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema239.properties.file,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/file",schemaPath:"#/properties/file/type",keyword:"type",params:{type: "string"},schema:schema239.properties.file.type,parentSchema:schema239.properties.file,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.ttl !== undefined){
let data1 = data.ttl;
if((typeof data1 !== "string") && (!(((typeof data1 == "number") && (!(data1 % 1) && !isNaN(data1))) && (isFinite(data1))))){
const err4 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: schema15.type},schema:schema15.type,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if((typeof data1 == "number") && (isFinite(data1))){
if(data1 < 0 || isNaN(data1)){
const err5 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(typeof data1 === "string"){
if(!pattern0.test(data1)){
const err6 = {instancePath:instancePath+"/ttl",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^\\d{1,12}(ms|s|m|h|d)$"},schema:"^\\d{1,12}(ms|s|m|h|d)$",parentSchema:schema15,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
let data2 = data.max;
if(!(((typeof data2 == "number") && (!(data2 % 1) && !isNaN(data2))) && (isFinite(data2)))){
const err7 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema239.properties.max.type,parentSchema:schema239.properties.max,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 > 1000000 || isNaN(data2)){
const err8 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000},schema:1000000,parentSchema:schema239.properties.max,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data2 < 1 || isNaN(data2)){
const err9 = {instancePath:instancePath+"/max",schemaPath:"#/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema239.properties.max,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
let data3 = data.maxPerCaller;
if(!(((typeof data3 == "number") && (!(data3 % 1) && !isNaN(data3))) && (isFinite(data3)))){
const err10 = {instancePath:instancePath+"/maxPerCaller",schemaPath:"#/properties/maxPerCaller/type",keyword:"type",params:{type: "integer"},schema:schema239.properties.maxPerCaller.type,parentSchema:schema239.properties.maxPerCaller,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if((typeof data3 == "number") && (isFinite(data3))){
if(data3 > 10000 || isNaN(data3)){
const err11 = {instancePath:instancePath+"/maxPerCaller",schemaPath:"#/properties/maxPerCaller/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000},schema:10000,parentSchema:schema239.properties.maxPerCaller,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
if(data3 < 1 || isNaN(data3)){
const err12 = {instancePath:instancePath+"/maxPerCaller",schemaPath:"#/properties/maxPerCaller/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema239.properties.maxPerCaller,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let data4 = data.keepPrompt;
if(typeof data4 !== "boolean"){
const err13 = {instancePath:instancePath+"/keepPrompt",schemaPath:"#/properties/keepPrompt/type",keyword:"type",params:{type: "boolean"},schema:schema239.properties.keepPrompt.type,parentSchema:schema239.properties.keepPrompt,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema239.type,parentSchema:schema239,data};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate160.errors = vErrors;
return errors === 0;
}


function validate125(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.list === undefined){
data.list = {};
}
if(data.processes === undefined){
data.processes = 4;
}
if(data.prefix === undefined){
data.prefix = "";
}
for(const key0 in data){
if(!(func2.call(schema197.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema197,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.list;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
for(const key1 in data0){
const _errs4 = errors;
if(typeof key1 === "string"){
if(!pattern6.test(key1)){
const err1 = {instancePath:instancePath+"/list",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath:instancePath+"/list",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var valid1 = _errs4 === errors;
if(!valid1){
const err3 = {instancePath:instancePath+"/list",schemaPath:"#/properties/list/propertyNames",keyword:"propertyNames",params:{propertyName: key1},schema:schema197.properties.list.propertyNames,parentSchema:schema197.properties.list,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
for(const key2 in data0){
if(!(validate126(data0[key2], {instancePath:instancePath+"/list/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data0,parentDataProperty:key2,rootData}))){
vErrors = vErrors === null ? validate126.errors : vErrors.concat(validate126.errors);
errors = vErrors.length;
}
}
}
else {
const err4 = {instancePath:instancePath+"/list",schemaPath:"#/properties/list/type",keyword:"type",params:{type: "object"},schema:schema197.properties.list.type,parentSchema:schema197.properties.list,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(data.defaults !== undefined){
if(!(validate147(data.defaults, {instancePath:instancePath+"/defaults",parentData:data,parentDataProperty:"defaults",rootData}))){
vErrors = vErrors === null ? validate147.errors : vErrors.concat(validate147.errors);
errors = vErrors.length;
}
}
if(data.registry !== undefined){
let data3 = data.registry;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.file === undefined){
const err5 = {instancePath:instancePath+"/registry",schemaPath:"#/$defs/AgentRegistryConfig/required",keyword:"required",params:{missingProperty: "file"},schema:schema233.required,parentSchema:schema233,data:data3};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data3.use === undefined){
const err6 = {instancePath:instancePath+"/registry",schemaPath:"#/$defs/AgentRegistryConfig/required",keyword:"required",params:{missingProperty: "use"},schema:schema233.required,parentSchema:schema233,data:data3};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
for(const key3 in data3){
if(!((key3 === "file") || (key3 === "use"))){
const err7 = {instancePath:instancePath+"/registry",schemaPath:"#/$defs/AgentRegistryConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema233,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data3.file !== undefined){
let data4 = data3.file;
if(typeof data4 === "string"){
if(data4.length > 4096){
const err8 = {instancePath:instancePath+"/registry/file",schemaPath:"#/$defs/AgentRegistryConfig/properties/file/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema233.properties.file,data:data4};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(data4.length < 1){
const err9 = {instancePath:instancePath+"/registry/file",schemaPath:"#/$defs/AgentRegistryConfig/properties/file/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema233.properties.file,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/registry/file",schemaPath:"#/$defs/AgentRegistryConfig/properties/file/type",keyword:"type",params:{type: "string"},schema:schema233.properties.file.type,parentSchema:schema233.properties.file,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data3.use !== undefined){
let data5 = data3.use;
if(Array.isArray(data5)){
if(data5.length < 1){
const err11 = {instancePath:instancePath+"/registry/use",schemaPath:"#/$defs/AgentRegistryConfig/properties/use/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema233.properties.use,data:data5};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
const len0 = data5.length;
for(let i0=0; i0<len0; i0++){
let data6 = data5[i0];
if(typeof data6 === "string"){
if(data6.length > 128){
const err12 = {instancePath:instancePath+"/registry/use/" + i0,schemaPath:"#/$defs/AgentRegistryConfig/properties/use/items/maxLength",keyword:"maxLength",params:{limit: 128},schema:128,parentSchema:schema233.properties.use.items,data:data6};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
if(data6.length < 1){
const err13 = {instancePath:instancePath+"/registry/use/" + i0,schemaPath:"#/$defs/AgentRegistryConfig/properties/use/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema233.properties.use.items,data:data6};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/registry/use/" + i0,schemaPath:"#/$defs/AgentRegistryConfig/properties/use/items/type",keyword:"type",params:{type: "string"},schema:schema233.properties.use.items.type,parentSchema:schema233.properties.use.items,data:data6};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath:instancePath+"/registry/use",schemaPath:"#/$defs/AgentRegistryConfig/properties/use/type",keyword:"type",params:{type: "array"},schema:schema233.properties.use.type,parentSchema:schema233.properties.use,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
}
else {
const err16 = {instancePath:instancePath+"/registry",schemaPath:"#/$defs/AgentRegistryConfig/type",keyword:"type",params:{type: "object"},schema:schema233.type,parentSchema:schema233,data:data3};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data.commands !== undefined){
let data7 = data.commands;
if(Array.isArray(data7)){
const len1 = data7.length;
for(let i1=0; i1<len1; i1++){
let data8 = data7[i1];
if(typeof data8 === "string"){
if(data8.length > 4096){
const err17 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema197.properties.commands.items,data:data8};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
if(data8.length < 1){
const err18 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema197.properties.commands.items,data:data8};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
else {
const err19 = {instancePath:instancePath+"/commands/" + i1,schemaPath:"#/properties/commands/items/type",keyword:"type",params:{type: "string"},schema:schema197.properties.commands.items.type,parentSchema:schema197.properties.commands.items,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
}
else {
const err20 = {instancePath:instancePath+"/commands",schemaPath:"#/properties/commands/type",keyword:"type",params:{type: "array"},schema:schema197.properties.commands.type,parentSchema:schema197.properties.commands,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(data.roots !== undefined){
let data9 = data.roots;
if(Array.isArray(data9)){
if(data9.length < 1){
const err21 = {instancePath:instancePath+"/roots",schemaPath:"#/properties/roots/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema197.properties.roots,data:data9};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
const len2 = data9.length;
for(let i2=0; i2<len2; i2++){
let data10 = data9[i2];
if(typeof data10 === "string"){
if(data10.length > 4096){
const err22 = {instancePath:instancePath+"/roots/" + i2,schemaPath:"#/properties/roots/items/maxLength",keyword:"maxLength",params:{limit: 4096},schema:4096,parentSchema:schema197.properties.roots.items,data:data10};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(data10.length < 1){
const err23 = {instancePath:instancePath+"/roots/" + i2,schemaPath:"#/properties/roots/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema197.properties.roots.items,data:data10};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/roots/" + i2,schemaPath:"#/properties/roots/items/type",keyword:"type",params:{type: "string"},schema:schema197.properties.roots.items.type,parentSchema:schema197.properties.roots.items,data:data10};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
}
else {
const err25 = {instancePath:instancePath+"/roots",schemaPath:"#/properties/roots/type",keyword:"type",params:{type: "array"},schema:schema197.properties.roots.type,parentSchema:schema197.properties.roots,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
if(data.routing !== undefined){
if(!(validate156(data.routing, {instancePath:instancePath+"/routing",parentData:data,parentDataProperty:"routing",rootData}))){
vErrors = vErrors === null ? validate156.errors : vErrors.concat(validate156.errors);
errors = vErrors.length;
}
}
if(data.tasks !== undefined){
if(!(validate160(data.tasks, {instancePath:instancePath+"/tasks",parentData:data,parentDataProperty:"tasks",rootData}))){
vErrors = vErrors === null ? validate160.errors : vErrors.concat(validate160.errors);
errors = vErrors.length;
}
}
let data13 = data.processes;
if(!(((typeof data13 == "number") && (!(data13 % 1) && !isNaN(data13))) && (isFinite(data13)))){
const err26 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/type",keyword:"type",params:{type: "integer"},schema:schema197.properties.processes.type,parentSchema:schema197.properties.processes,data:data13};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
if((typeof data13 == "number") && (isFinite(data13))){
if(data13 > 256 || isNaN(data13)){
const err27 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/maximum",keyword:"maximum",params:{comparison: "<=", limit: 256},schema:256,parentSchema:schema197.properties.processes,data:data13};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
if(data13 < 1 || isNaN(data13)){
const err28 = {instancePath:instancePath+"/processes",schemaPath:"#/properties/processes/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema197.properties.processes,data:data13};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
let data14 = data.prefix;
if(typeof data14 === "string"){
if(!pattern117.test(data14)){
const err29 = {instancePath:instancePath+"/prefix",schemaPath:"#/properties/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9_.-]{0,32}$"},schema:"^[A-Za-z0-9_.-]{0,32}$",parentSchema:schema197.properties.prefix,data:data14};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
else {
const err30 = {instancePath:instancePath+"/prefix",schemaPath:"#/properties/prefix/type",keyword:"type",params:{type: "string"},schema:schema197.properties.prefix.type,parentSchema:schema197.properties.prefix,data:data14};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
else {
const err31 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema197.type,parentSchema:schema197,data};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
validate125.errors = vErrors;
return errors === 0;
}

const schema242 = {"type":"object","additionalProperties":false,"required":["use"],"properties":{"use":{"description":"A path relative to the configuration file (`.ts` or `.js`), or an npm package.","x-private":"module","type":"string","minLength":1},"options":{"type":"object"},"enabled":{"$ref":"#/$defs/enabled"}}};

function validate163(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.options === undefined){
data.options = {};
}
if(data.enabled === undefined){
data.enabled = true;
}
if(data.use === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "use"},schema:schema242.required,parentSchema:schema242,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((key0 === "use") || (key0 === "options")) || (key0 === "enabled"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema242,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.use !== undefined){
let data0 = data.use;
if(typeof data0 === "string"){
if(data0.length < 1){
const err2 = {instancePath:instancePath+"/use",schemaPath:"#/properties/use/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema242.properties.use,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/use",schemaPath:"#/properties/use/type",keyword:"type",params:{type: "string"},schema:schema242.properties.use.type,parentSchema:schema242.properties.use,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
let data1 = data.options;
if(!(data1 && typeof data1 == "object" && !Array.isArray(data1))){
const err4 = {instancePath:instancePath+"/options",schemaPath:"#/properties/options/type",keyword:"type",params:{type: "object"},schema:schema242.properties.options.type,parentSchema:schema242.properties.options,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
let data2 = data.enabled;
if(typeof data2 !== "boolean"){
const err5 = {instancePath:instancePath+"/enabled",schemaPath:"#/$defs/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema52.type,parentSchema:schema52,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema242.type,parentSchema:schema242,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
validate163.errors = vErrors;
return errors === 0;
}

const pattern78 = new RegExp("^/[^?#\\s]*$", "u");
const pattern82 = new RegExp("^(/[^\\s?#/]+)*$", "u");

function validate10(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.version === undefined){
data.version = 1;
}
if(data.server === undefined){
data.server = {};
}
if(data.log === undefined){
data.log = {};
}
if(data.lists === undefined){
data.lists = {};
}
if(data.shutdown === undefined){
data.shutdown = {};
}
if(data.control === undefined){
data.control = {};
}
if(data.overload === undefined){
data.overload = {};
}
if(data.hooks === undefined){
data.hooks = {};
}
if(data.processes === undefined){
data.processes = {};
}
if(data.listeners === undefined){
data.listeners = {};
}
if(data.upstreams === undefined){
data.upstreams = {};
}
if(data.cache === undefined){
data.cache = {};
}
if(data.plugins === undefined){
data.plugins = {};
}
for(const key0 in data){
if(!(func2.call(schema11.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},schema:false,parentSchema:schema11,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
let data0 = data.version;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err1 = {instancePath:instancePath+"/version",schemaPath:"#/properties/version/type",keyword:"type",params:{type: "integer"},schema:schema11.properties.version.type,parentSchema:schema11.properties.version,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(1 !== data0){
const err2 = {instancePath:instancePath+"/version",schemaPath:"#/properties/version/const",keyword:"const",params:{allowedValue: 1},schema:1,parentSchema:schema11.properties.version,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.extends !== undefined){
let data1 = data.extends;
if((typeof data1 !== "string") && (!(Array.isArray(data1)))){
const err3 = {instancePath:instancePath+"/extends",schemaPath:"#/properties/extends/type",keyword:"type",params:{type: schema11.properties.extends.type},schema:schema11.properties.extends.type,parentSchema:schema11.properties.extends,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(typeof data1 === "string"){
if(data1.length < 1){
const err4 = {instancePath:instancePath+"/extends",schemaPath:"#/properties/extends/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema11.properties.extends,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(Array.isArray(data1)){
const len0 = data1.length;
for(let i0=0; i0<len0; i0++){
let data2 = data1[i0];
if(typeof data2 === "string"){
if(data2.length < 1){
const err5 = {instancePath:instancePath+"/extends/" + i0,schemaPath:"#/properties/extends/items/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema11.properties.extends.items,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/extends/" + i0,schemaPath:"#/properties/extends/items/type",keyword:"type",params:{type: "string"},schema:schema11.properties.extends.items.type,parentSchema:schema11.properties.extends.items,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
}
let data3 = data.server;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.name === undefined){
data3.name = "tapgate";
}
for(const key1 in data3){
if(!((((key1 === "name") || (key1 === "version")) || (key1 === "title")) || (key1 === "instructions"))){
const err7 = {instancePath:instancePath+"/server",schemaPath:"#/$defs/ServerConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},schema:false,parentSchema:schema12,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
let data4 = data3.name;
if(typeof data4 === "string"){
if(data4.length < 1){
const err8 = {instancePath:instancePath+"/server/name",schemaPath:"#/$defs/ServerConfig/properties/name/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema12.properties.name,data:data4};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/server/name",schemaPath:"#/$defs/ServerConfig/properties/name/type",keyword:"type",params:{type: "string"},schema:schema12.properties.name.type,parentSchema:schema12.properties.name,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data3.version !== undefined){
let data5 = data3.version;
if(typeof data5 === "string"){
if(data5.length < 1){
const err10 = {instancePath:instancePath+"/server/version",schemaPath:"#/$defs/ServerConfig/properties/version/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema12.properties.version,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/server/version",schemaPath:"#/$defs/ServerConfig/properties/version/type",keyword:"type",params:{type: "string"},schema:schema12.properties.version.type,parentSchema:schema12.properties.version,data:data5};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data3.title !== undefined){
let data6 = data3.title;
if(typeof data6 !== "string"){
const err12 = {instancePath:instancePath+"/server/title",schemaPath:"#/$defs/ServerConfig/properties/title/type",keyword:"type",params:{type: "string"},schema:schema12.properties.title.type,parentSchema:schema12.properties.title,data:data6};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data3.instructions !== undefined){
let data7 = data3.instructions;
if(typeof data7 !== "string"){
const err13 = {instancePath:instancePath+"/server/instructions",schemaPath:"#/$defs/ServerConfig/properties/instructions/type",keyword:"type",params:{type: "string"},schema:schema12.properties.instructions.type,parentSchema:schema12.properties.instructions,data:data7};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath:instancePath+"/server",schemaPath:"#/$defs/ServerConfig/type",keyword:"type",params:{type: "object"},schema:schema12.type,parentSchema:schema12,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
let data8 = data.log;
if(data8 && typeof data8 == "object" && !Array.isArray(data8)){
if(data8.level === undefined){
data8.level = "info";
}
if(data8.format === undefined){
data8.format = "auto";
}
for(const key2 in data8){
if(!((key2 === "level") || (key2 === "format"))){
const err15 = {instancePath:instancePath+"/log",schemaPath:"#/$defs/LogConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},schema:false,parentSchema:schema13,data:data8};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
let data9 = data8.level;
if(typeof data9 !== "string"){
const err16 = {instancePath:instancePath+"/log/level",schemaPath:"#/$defs/LogConfig/properties/level/type",keyword:"type",params:{type: "string"},schema:schema13.properties.level.type,parentSchema:schema13.properties.level,data:data9};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
if(!((((data9 === "debug") || (data9 === "info")) || (data9 === "warn")) || (data9 === "error"))){
const err17 = {instancePath:instancePath+"/log/level",schemaPath:"#/$defs/LogConfig/properties/level/enum",keyword:"enum",params:{allowedValues: schema13.properties.level.enum},schema:schema13.properties.level.enum,parentSchema:schema13.properties.level,data:data9};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
let data10 = data8.format;
if(typeof data10 !== "string"){
const err18 = {instancePath:instancePath+"/log/format",schemaPath:"#/$defs/LogConfig/properties/format/type",keyword:"type",params:{type: "string"},schema:schema13.properties.format.type,parentSchema:schema13.properties.format,data:data10};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
if(!(((data10 === "auto") || (data10 === "pretty")) || (data10 === "json"))){
const err19 = {instancePath:instancePath+"/log/format",schemaPath:"#/$defs/LogConfig/properties/format/enum",keyword:"enum",params:{allowedValues: schema13.properties.format.enum},schema:schema13.properties.format.enum,parentSchema:schema13.properties.format,data:data10};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
else {
const err20 = {instancePath:instancePath+"/log",schemaPath:"#/$defs/LogConfig/type",keyword:"type",params:{type: "object"},schema:schema13.type,parentSchema:schema13,data:data8};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
if(!(validate11(data.lists, {instancePath:instancePath+"/lists",parentData:data,parentDataProperty:"lists",rootData}))){
vErrors = vErrors === null ? validate11.errors : vErrors.concat(validate11.errors);
errors = vErrors.length;
}
if(!(validate13(data.shutdown, {instancePath:instancePath+"/shutdown",parentData:data,parentDataProperty:"shutdown",rootData}))){
vErrors = vErrors === null ? validate13.errors : vErrors.concat(validate13.errors);
errors = vErrors.length;
}
let data13 = data.control;
if(data13 && typeof data13 == "object" && !Array.isArray(data13)){
if(data13.enabled === undefined){
data13.enabled = true;
}
for(const key3 in data13){
if(!((key3 === "enabled") || (key3 === "socket"))){
const err21 = {instancePath:instancePath+"/control",schemaPath:"#/$defs/ControlConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},schema:false,parentSchema:schema20,data:data13};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
let data14 = data13.enabled;
if(typeof data14 !== "boolean"){
const err22 = {instancePath:instancePath+"/control/enabled",schemaPath:"#/$defs/ControlConfig/properties/enabled/type",keyword:"type",params:{type: "boolean"},schema:schema20.properties.enabled.type,parentSchema:schema20.properties.enabled,data:data14};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
if(data13.socket !== undefined){
let data15 = data13.socket;
if(typeof data15 === "string"){
if(data15.length < 1){
const err23 = {instancePath:instancePath+"/control/socket",schemaPath:"#/$defs/ControlConfig/properties/socket/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema20.properties.socket,data:data15};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/control/socket",schemaPath:"#/$defs/ControlConfig/properties/socket/type",keyword:"type",params:{type: "string"},schema:schema20.properties.socket.type,parentSchema:schema20.properties.socket,data:data15};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
}
else {
const err25 = {instancePath:instancePath+"/control",schemaPath:"#/$defs/ControlConfig/type",keyword:"type",params:{type: "object"},schema:schema20.type,parentSchema:schema20,data:data13};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
let data16 = data.overload;
if((!(data16 && typeof data16 == "object" && !Array.isArray(data16))) && (typeof data16 !== "boolean")){
const err26 = {instancePath:instancePath+"/overload",schemaPath:"#/properties/overload/type",keyword:"type",params:{type: schema11.properties.overload.type},schema:schema11.properties.overload.type,parentSchema:schema11.properties.overload,data:data16};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
const _errs40 = errors;
let valid9 = true;
const _errs41 = errors;
if(!(data16 && typeof data16 == "object" && !Array.isArray(data16))){
const err27 = {};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
var _valid0 = _errs41 === errors;
errors = _errs40;
if(vErrors !== null){
if(_errs40){
vErrors.length = _errs40;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs43 = errors;
if(!(validate15(data16, {instancePath:instancePath+"/overload",parentData:data,parentDataProperty:"overload",rootData}))){
vErrors = vErrors === null ? validate15.errors : vErrors.concat(validate15.errors);
errors = vErrors.length;
}
var _valid0 = _errs43 === errors;
valid9 = _valid0;
ifClause0 = "then";
}
else {
const _errs44 = errors;
if(false !== data16){
const err28 = {instancePath:instancePath+"/overload",schemaPath:"#/properties/overload/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema11.properties.overload.else,data:data16};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
var _valid0 = _errs44 === errors;
valid9 = _valid0;
ifClause0 = "else";
}
if(!valid9){
const err29 = {instancePath:instancePath+"/overload",schemaPath:"#/properties/overload/if",keyword:"if",params:{failingKeyword: ifClause0},schema:schema11.properties.overload.if,parentSchema:schema11.properties.overload,data:data16};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
if(!(validate17(data.hooks, {instancePath:instancePath+"/hooks",parentData:data,parentDataProperty:"hooks",rootData}))){
vErrors = vErrors === null ? validate17.errors : vErrors.concat(validate17.errors);
errors = vErrors.length;
}
let data18 = data.processes;
if(data18 && typeof data18 == "object" && !Array.isArray(data18)){
if(data18.max === undefined){
data18.max = 64;
}
if(data18.starting === undefined){
data18.starting = 4;
}
for(const key4 in data18){
if(!((key4 === "max") || (key4 === "starting"))){
const err30 = {instancePath:instancePath+"/processes",schemaPath:"#/$defs/ProcessesConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4},schema:false,parentSchema:schema25,data:data18};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
let data19 = data18.max;
if(!(((typeof data19 == "number") && (!(data19 % 1) && !isNaN(data19))) && (isFinite(data19)))){
const err31 = {instancePath:instancePath+"/processes/max",schemaPath:"#/$defs/ProcessesConfig/properties/max/type",keyword:"type",params:{type: "integer"},schema:schema25.properties.max.type,parentSchema:schema25.properties.max,data:data19};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
if((typeof data19 == "number") && (isFinite(data19))){
if(data19 > 10000 || isNaN(data19)){
const err32 = {instancePath:instancePath+"/processes/max",schemaPath:"#/$defs/ProcessesConfig/properties/max/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000},schema:10000,parentSchema:schema25.properties.max,data:data19};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
if(data19 < 1 || isNaN(data19)){
const err33 = {instancePath:instancePath+"/processes/max",schemaPath:"#/$defs/ProcessesConfig/properties/max/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema25.properties.max,data:data19};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
let data20 = data18.starting;
if(!(((typeof data20 == "number") && (!(data20 % 1) && !isNaN(data20))) && (isFinite(data20)))){
const err34 = {instancePath:instancePath+"/processes/starting",schemaPath:"#/$defs/ProcessesConfig/properties/starting/type",keyword:"type",params:{type: "integer"},schema:schema25.properties.starting.type,parentSchema:schema25.properties.starting,data:data20};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
if((typeof data20 == "number") && (isFinite(data20))){
if(data20 > 1000 || isNaN(data20)){
const err35 = {instancePath:instancePath+"/processes/starting",schemaPath:"#/$defs/ProcessesConfig/properties/starting/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000},schema:1000,parentSchema:schema25.properties.starting,data:data20};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
if(data20 < 1 || isNaN(data20)){
const err36 = {instancePath:instancePath+"/processes/starting",schemaPath:"#/$defs/ProcessesConfig/properties/starting/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},schema:1,parentSchema:schema25.properties.starting,data:data20};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
}
}
else {
const err37 = {instancePath:instancePath+"/processes",schemaPath:"#/$defs/ProcessesConfig/type",keyword:"type",params:{type: "object"},schema:schema25.type,parentSchema:schema25,data:data18};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
if(data.state !== undefined){
let data21 = data.state;
if((!(data21 && typeof data21 == "object" && !Array.isArray(data21))) && (typeof data21 !== "boolean")){
const err38 = {instancePath:instancePath+"/state",schemaPath:"#/properties/state/type",keyword:"type",params:{type: schema11.properties.state.type},schema:schema11.properties.state.type,parentSchema:schema11.properties.state,data:data21};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
const _errs56 = errors;
let valid12 = true;
const _errs57 = errors;
if(!(data21 && typeof data21 == "object" && !Array.isArray(data21))){
const err39 = {};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
var _valid1 = _errs57 === errors;
errors = _errs56;
if(vErrors !== null){
if(_errs56){
vErrors.length = _errs56;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid1){
const _errs59 = errors;
if(data21 && typeof data21 == "object" && !Array.isArray(data21)){
if(data21.directory === undefined){
const err40 = {instancePath:instancePath+"/state",schemaPath:"#/$defs/StateConfig/required",keyword:"required",params:{missingProperty: "directory"},schema:schema26.required,parentSchema:schema26,data:data21};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
for(const key5 in data21){
if(!(key5 === "directory")){
const err41 = {instancePath:instancePath+"/state",schemaPath:"#/$defs/StateConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key5},schema:false,parentSchema:schema26,data:data21};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
if(data21.directory !== undefined){
let data22 = data21.directory;
if(typeof data22 === "string"){
if(data22.length < 1){
const err42 = {instancePath:instancePath+"/state/directory",schemaPath:"#/$defs/StateConfig/properties/directory/minLength",keyword:"minLength",params:{limit: 1},schema:1,parentSchema:schema26.properties.directory,data:data22};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
else {
const err43 = {instancePath:instancePath+"/state/directory",schemaPath:"#/$defs/StateConfig/properties/directory/type",keyword:"type",params:{type: "string"},schema:schema26.properties.directory.type,parentSchema:schema26.properties.directory,data:data22};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
}
else {
const err44 = {instancePath:instancePath+"/state",schemaPath:"#/$defs/StateConfig/type",keyword:"type",params:{type: "object"},schema:schema26.type,parentSchema:schema26,data:data21};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
var _valid1 = _errs59 === errors;
valid12 = _valid1;
ifClause1 = "then";
}
else {
const _errs65 = errors;
if(false !== data21){
const err45 = {instancePath:instancePath+"/state",schemaPath:"#/properties/state/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema11.properties.state.else,data:data21};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
var _valid1 = _errs65 === errors;
valid12 = _valid1;
ifClause1 = "else";
}
if(!valid12){
const err46 = {instancePath:instancePath+"/state",schemaPath:"#/properties/state/if",keyword:"if",params:{failingKeyword: ifClause1},schema:schema11.properties.state.if,parentSchema:schema11.properties.state,data:data21};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
let data23 = data.listeners;
if(data23 && typeof data23 == "object" && !Array.isArray(data23)){
for(const key6 in data23){
const _errs68 = errors;
if(typeof key6 === "string"){
if(!pattern6.test(key6)){
const err47 = {instancePath:instancePath+"/listeners",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key6,propertyName:key6};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
else {
const err48 = {instancePath:instancePath+"/listeners",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key6,propertyName:key6};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
var valid15 = _errs68 === errors;
if(!valid15){
const err49 = {instancePath:instancePath+"/listeners",schemaPath:"#/properties/listeners/propertyNames",keyword:"propertyNames",params:{propertyName: key6},schema:schema11.properties.listeners.propertyNames,parentSchema:schema11.properties.listeners,data:data23};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
for(const key7 in data23){
if(!(validate19(data23[key7], {instancePath:instancePath+"/listeners/" + key7.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data23,parentDataProperty:key7,rootData}))){
vErrors = vErrors === null ? validate19.errors : vErrors.concat(validate19.errors);
errors = vErrors.length;
}
}
}
else {
const err50 = {instancePath:instancePath+"/listeners",schemaPath:"#/properties/listeners/type",keyword:"type",params:{type: "object"},schema:schema11.properties.listeners.type,parentSchema:schema11.properties.listeners,data:data23};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
let data25 = data.upstreams;
if(data25 && typeof data25 == "object" && !Array.isArray(data25)){
for(const key8 in data25){
const _errs75 = errors;
if(typeof key8 === "string"){
if(!pattern6.test(key8)){
const err51 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key8,propertyName:key8};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
}
else {
const err52 = {instancePath:instancePath+"/upstreams",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key8,propertyName:key8};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
var valid18 = _errs75 === errors;
if(!valid18){
const err53 = {instancePath:instancePath+"/upstreams",schemaPath:"#/properties/upstreams/propertyNames",keyword:"propertyNames",params:{propertyName: key8},schema:schema11.properties.upstreams.propertyNames,parentSchema:schema11.properties.upstreams,data:data25};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
for(const key9 in data25){
if(!(validate27(data25[key9], {instancePath:instancePath+"/upstreams/" + key9.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data25,parentDataProperty:key9,rootData}))){
vErrors = vErrors === null ? validate27.errors : vErrors.concat(validate27.errors);
errors = vErrors.length;
}
}
}
else {
const err54 = {instancePath:instancePath+"/upstreams",schemaPath:"#/properties/upstreams/type",keyword:"type",params:{type: "object"},schema:schema11.properties.upstreams.type,parentSchema:schema11.properties.upstreams,data:data25};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
if(data.sessionHeaders !== undefined){
if(!(validate88(data.sessionHeaders, {instancePath:instancePath+"/sessionHeaders",parentData:data,parentDataProperty:"sessionHeaders",rootData}))){
vErrors = vErrors === null ? validate88.errors : vErrors.concat(validate88.errors);
errors = vErrors.length;
}
}
if(data.audit !== undefined){
if(!(validate90(data.audit, {instancePath:instancePath+"/audit",parentData:data,parentDataProperty:"audit",rootData}))){
vErrors = vErrors === null ? validate90.errors : vErrors.concat(validate90.errors);
errors = vErrors.length;
}
}
if(data.metrics !== undefined){
let data29 = data.metrics;
if(data29 && typeof data29 == "object" && !Array.isArray(data29)){
if(data29.path === undefined){
data29.path = "/metrics";
}
if(data29.tools === undefined){
data29.tools = 100;
}
if(data29.buckets === undefined){
data29.buckets = [0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10,30,60];
}
for(const key10 in data29){
if(!((((key10 === "path") || (key10 === "listeners")) || (key10 === "tools")) || (key10 === "buckets"))){
const err55 = {instancePath:instancePath+"/metrics",schemaPath:"#/$defs/MetricsConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key10},schema:false,parentSchema:schema154,data:data29};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
let data30 = data29.path;
if(typeof data30 === "string"){
if(!pattern78.test(data30)){
const err56 = {instancePath:instancePath+"/metrics/path",schemaPath:"#/$defs/MetricsConfig/properties/path/pattern",keyword:"pattern",params:{pattern: "^/[^?#\\s]*$"},schema:"^/[^?#\\s]*$",parentSchema:schema154.properties.path,data:data30};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
else {
const err57 = {instancePath:instancePath+"/metrics/path",schemaPath:"#/$defs/MetricsConfig/properties/path/type",keyword:"type",params:{type: "string"},schema:schema154.properties.path.type,parentSchema:schema154.properties.path,data:data30};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
if(data29.listeners !== undefined){
let data31 = data29.listeners;
if(Array.isArray(data31)){
if(data31.length < 1){
const err58 = {instancePath:instancePath+"/metrics/listeners",schemaPath:"#/$defs/MetricsConfig/properties/listeners/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema154.properties.listeners,data:data31};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
const len1 = data31.length;
for(let i1=0; i1<len1; i1++){
let data32 = data31[i1];
if(typeof data32 !== "string"){
const err59 = {instancePath:instancePath+"/metrics/listeners/" + i1,schemaPath:"#/$defs/MetricsConfig/properties/listeners/items/type",keyword:"type",params:{type: "string"},schema:schema154.properties.listeners.items.type,parentSchema:schema154.properties.listeners.items,data:data32};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
}
}
else {
const err60 = {instancePath:instancePath+"/metrics/listeners",schemaPath:"#/$defs/MetricsConfig/properties/listeners/type",keyword:"type",params:{type: "array"},schema:schema154.properties.listeners.type,parentSchema:schema154.properties.listeners,data:data31};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
}
let data33 = data29.tools;
if(!(((typeof data33 == "number") && (!(data33 % 1) && !isNaN(data33))) && (isFinite(data33)))){
const err61 = {instancePath:instancePath+"/metrics/tools",schemaPath:"#/$defs/MetricsConfig/properties/tools/type",keyword:"type",params:{type: "integer"},schema:schema154.properties.tools.type,parentSchema:schema154.properties.tools,data:data33};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
if((typeof data33 == "number") && (isFinite(data33))){
if(data33 > 10000 || isNaN(data33)){
const err62 = {instancePath:instancePath+"/metrics/tools",schemaPath:"#/$defs/MetricsConfig/properties/tools/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10000},schema:10000,parentSchema:schema154.properties.tools,data:data33};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
if(data33 < 0 || isNaN(data33)){
const err63 = {instancePath:instancePath+"/metrics/tools",schemaPath:"#/$defs/MetricsConfig/properties/tools/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},schema:0,parentSchema:schema154.properties.tools,data:data33};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
}
let data34 = data29.buckets;
if(Array.isArray(data34)){
if(data34.length > 50){
const err64 = {instancePath:instancePath+"/metrics/buckets",schemaPath:"#/$defs/MetricsConfig/properties/buckets/maxItems",keyword:"maxItems",params:{limit: 50},schema:50,parentSchema:schema154.properties.buckets,data:data34};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
if(data34.length < 1){
const err65 = {instancePath:instancePath+"/metrics/buckets",schemaPath:"#/$defs/MetricsConfig/properties/buckets/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema154.properties.buckets,data:data34};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
const len2 = data34.length;
for(let i2=0; i2<len2; i2++){
let data35 = data34[i2];
if((typeof data35 == "number") && (isFinite(data35))){
if(data35 <= 0 || isNaN(data35)){
const err66 = {instancePath:instancePath+"/metrics/buckets/" + i2,schemaPath:"#/$defs/MetricsConfig/properties/buckets/items/exclusiveMinimum",keyword:"exclusiveMinimum",params:{comparison: ">", limit: 0},schema:0,parentSchema:schema154.properties.buckets.items,data:data35};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
}
else {
const err67 = {instancePath:instancePath+"/metrics/buckets/" + i2,schemaPath:"#/$defs/MetricsConfig/properties/buckets/items/type",keyword:"type",params:{type: "number"},schema:schema154.properties.buckets.items.type,parentSchema:schema154.properties.buckets.items,data:data35};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
}
else {
const err68 = {instancePath:instancePath+"/metrics/buckets",schemaPath:"#/$defs/MetricsConfig/properties/buckets/type",keyword:"type",params:{type: "array"},schema:schema154.properties.buckets.type,parentSchema:schema154.properties.buckets,data:data34};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
}
else {
const err69 = {instancePath:instancePath+"/metrics",schemaPath:"#/$defs/MetricsConfig/type",keyword:"type",params:{type: "object"},schema:schema154.type,parentSchema:schema154,data:data29};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
}
if(data.profiles !== undefined){
let data36 = data.profiles;
if(data36 && typeof data36 == "object" && !Array.isArray(data36)){
for(const key11 in data36){
const _errs100 = errors;
if(typeof key11 === "string"){
if(!pattern6.test(key11)){
const err70 = {instancePath:instancePath+"/profiles",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key11,propertyName:key11};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
}
else {
const err71 = {instancePath:instancePath+"/profiles",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key11,propertyName:key11};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
var valid27 = _errs100 === errors;
if(!valid27){
const err72 = {instancePath:instancePath+"/profiles",schemaPath:"#/properties/profiles/propertyNames",keyword:"propertyNames",params:{propertyName: key11},schema:schema11.properties.profiles.propertyNames,parentSchema:schema11.properties.profiles,data:data36};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
}
}
for(const key12 in data36){
if(!(validate92(data36[key12], {instancePath:instancePath+"/profiles/" + key12.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data36,parentDataProperty:key12,rootData}))){
vErrors = vErrors === null ? validate92.errors : vErrors.concat(validate92.errors);
errors = vErrors.length;
}
}
}
else {
const err73 = {instancePath:instancePath+"/profiles",schemaPath:"#/properties/profiles/type",keyword:"type",params:{type: "object"},schema:schema11.properties.profiles.type,parentSchema:schema11.properties.profiles,data:data36};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
}
if(data.rest !== undefined){
let data38 = data.rest;
if(data38 && typeof data38 == "object" && !Array.isArray(data38)){
if(data38.path === undefined){
data38.path = "";
}
for(const key13 in data38){
if(!((key13 === "path") || (key13 === "listeners"))){
const err74 = {instancePath:instancePath+"/rest",schemaPath:"#/$defs/RestConfig/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key13},schema:false,parentSchema:schema163,data:data38};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
}
let data39 = data38.path;
if(typeof data39 === "string"){
if(!pattern82.test(data39)){
const err75 = {instancePath:instancePath+"/rest/path",schemaPath:"#/$defs/RestConfig/properties/path/pattern",keyword:"pattern",params:{pattern: "^(/[^\\s?#/]+)*$"},schema:"^(/[^\\s?#/]+)*$",parentSchema:schema163.properties.path,data:data39};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
else {
const err76 = {instancePath:instancePath+"/rest/path",schemaPath:"#/$defs/RestConfig/properties/path/type",keyword:"type",params:{type: "string"},schema:schema163.properties.path.type,parentSchema:schema163.properties.path,data:data39};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
}
if(data38.listeners !== undefined){
let data40 = data38.listeners;
if(Array.isArray(data40)){
if(data40.length < 1){
const err77 = {instancePath:instancePath+"/rest/listeners",schemaPath:"#/$defs/RestConfig/properties/listeners/minItems",keyword:"minItems",params:{limit: 1},schema:1,parentSchema:schema163.properties.listeners,data:data40};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
const len3 = data40.length;
for(let i3=0; i3<len3; i3++){
let data41 = data40[i3];
if(typeof data41 !== "string"){
const err78 = {instancePath:instancePath+"/rest/listeners/" + i3,schemaPath:"#/$defs/RestConfig/properties/listeners/items/type",keyword:"type",params:{type: "string"},schema:schema163.properties.listeners.items.type,parentSchema:schema163.properties.listeners.items,data:data41};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
}
}
else {
const err79 = {instancePath:instancePath+"/rest/listeners",schemaPath:"#/$defs/RestConfig/properties/listeners/type",keyword:"type",params:{type: "array"},schema:schema163.properties.listeners.type,parentSchema:schema163.properties.listeners,data:data40};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
}
}
else {
const err80 = {instancePath:instancePath+"/rest",schemaPath:"#/$defs/RestConfig/type",keyword:"type",params:{type: "object"},schema:schema163.type,parentSchema:schema163,data:data38};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
}
let data42 = data.cache;
if((!(data42 && typeof data42 == "object" && !Array.isArray(data42))) && (typeof data42 !== "boolean")){
const err81 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/type",keyword:"type",params:{type: schema11.properties.cache.type},schema:schema11.properties.cache.type,parentSchema:schema11.properties.cache,data:data42};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
const _errs117 = errors;
let valid34 = true;
const _errs118 = errors;
if(!(data42 && typeof data42 == "object" && !Array.isArray(data42))){
const err82 = {};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
var _valid2 = _errs118 === errors;
errors = _errs117;
if(vErrors !== null){
if(_errs117){
vErrors.length = _errs117;
}
else {
vErrors = null;
}
}
let ifClause2;
if(_valid2){
const _errs120 = errors;
if(!(validate98(data42, {instancePath:instancePath+"/cache",parentData:data,parentDataProperty:"cache",rootData}))){
vErrors = vErrors === null ? validate98.errors : vErrors.concat(validate98.errors);
errors = vErrors.length;
}
var _valid2 = _errs120 === errors;
valid34 = _valid2;
ifClause2 = "then";
}
else {
const _errs121 = errors;
if(false !== data42){
const err83 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/else/const",keyword:"const",params:{allowedValue: false},schema:false,parentSchema:schema11.properties.cache.else,data:data42};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
}
var _valid2 = _errs121 === errors;
valid34 = _valid2;
ifClause2 = "else";
}
if(!valid34){
const err84 = {instancePath:instancePath+"/cache",schemaPath:"#/properties/cache/if",keyword:"if",params:{failingKeyword: ifClause2},schema:schema11.properties.cache.if,parentSchema:schema11.properties.cache,data:data42};
if(vErrors === null){
vErrors = [err84];
}
else {
vErrors.push(err84);
}
errors++;
}
if(data.routes !== undefined){
let data43 = data.routes;
if(Array.isArray(data43)){
const len4 = data43.length;
for(let i4=0; i4<len4; i4++){
if(!(validate104(data43[i4], {instancePath:instancePath+"/routes/" + i4,parentData:data43,parentDataProperty:i4,rootData}))){
vErrors = vErrors === null ? validate104.errors : vErrors.concat(validate104.errors);
errors = vErrors.length;
}
}
}
else {
const err85 = {instancePath:instancePath+"/routes",schemaPath:"#/properties/routes/type",keyword:"type",params:{type: "array"},schema:schema11.properties.routes.type,parentSchema:schema11.properties.routes,data:data43};
if(vErrors === null){
vErrors = [err85];
}
else {
vErrors.push(err85);
}
errors++;
}
}
if(data.filters !== undefined){
if(!(validate108(data.filters, {instancePath:instancePath+"/filters",parentData:data,parentDataProperty:"filters",rootData}))){
vErrors = vErrors === null ? validate108.errors : vErrors.concat(validate108.errors);
errors = vErrors.length;
}
}
if(data.auth !== undefined){
if(!(validate113(data.auth, {instancePath:instancePath+"/auth",parentData:data,parentDataProperty:"auth",rootData}))){
vErrors = vErrors === null ? validate113.errors : vErrors.concat(validate113.errors);
errors = vErrors.length;
}
}
if(data.rateLimit !== undefined){
if(!(validate121(data.rateLimit, {instancePath:instancePath+"/rateLimit",parentData:data,parentDataProperty:"rateLimit",rootData}))){
vErrors = vErrors === null ? validate121.errors : vErrors.concat(validate121.errors);
errors = vErrors.length;
}
}
if(data.agents !== undefined){
if(!(validate125(data.agents, {instancePath:instancePath+"/agents",parentData:data,parentDataProperty:"agents",rootData}))){
vErrors = vErrors === null ? validate125.errors : vErrors.concat(validate125.errors);
errors = vErrors.length;
}
}
let data49 = data.plugins;
if(data49 && typeof data49 == "object" && !Array.isArray(data49)){
for(const key14 in data49){
const _errs131 = errors;
if(typeof key14 === "string"){
if(!pattern6.test(key14)){
const err86 = {instancePath:instancePath+"/plugins",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9-]{0,31}$"},schema:"^[a-z][a-z0-9-]{0,31}$",parentSchema:schema27,data:key14,propertyName:key14};
if(vErrors === null){
vErrors = [err86];
}
else {
vErrors.push(err86);
}
errors++;
}
}
else {
const err87 = {instancePath:instancePath+"/plugins",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},schema:schema27.type,parentSchema:schema27,data:key14,propertyName:key14};
if(vErrors === null){
vErrors = [err87];
}
else {
vErrors.push(err87);
}
errors++;
}
var valid37 = _errs131 === errors;
if(!valid37){
const err88 = {instancePath:instancePath+"/plugins",schemaPath:"#/properties/plugins/propertyNames",keyword:"propertyNames",params:{propertyName: key14},schema:schema11.properties.plugins.propertyNames,parentSchema:schema11.properties.plugins,data:data49};
if(vErrors === null){
vErrors = [err88];
}
else {
vErrors.push(err88);
}
errors++;
}
}
for(const key15 in data49){
if(!(validate163(data49[key15], {instancePath:instancePath+"/plugins/" + key15.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data49,parentDataProperty:key15,rootData}))){
vErrors = vErrors === null ? validate163.errors : vErrors.concat(validate163.errors);
errors = vErrors.length;
}
}
}
else {
const err89 = {instancePath:instancePath+"/plugins",schemaPath:"#/properties/plugins/type",keyword:"type",params:{type: "object"},schema:schema11.properties.plugins.type,parentSchema:schema11.properties.plugins,data:data49};
if(vErrors === null){
vErrors = [err89];
}
else {
vErrors.push(err89);
}
errors++;
}
}
else {
const err90 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},schema:schema11.type,parentSchema:schema11,data};
if(vErrors === null){
vErrors = [err90];
}
else {
vErrors.push(err90);
}
errors++;
}
validate10.errors = vErrors;
return errors === 0;
}

