//! The HTTP client shared by all stores, and the threads that it runs on.

use std::io;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{BackoffConfig, ClientOptions, HeaderValue, RetryConfig};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::client::Client;
use crate::config::{NETWORK_THREADS, RETRIES_MAX, RETRY_PAUSE_MAX, RETRY_PAUSE_MIN, RETRY_TIMEOUT};
use crate::failure::Seen;

/// Returns the retry limits.
pub(crate) fn retries() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: RETRY_PAUSE_MIN, max_backoff: RETRY_PAUSE_MAX, base: 2.0 };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT }
}

/// Threads and connections, created on first use.
#[derive(Debug, Default)]
pub(crate) struct Network {
    runtime: OnceLock<Runtime>,
    client: OnceLock<HttpClient>,
}

impl Network {
    /// The threads.
    pub(crate) fn runtime(&self) -> io::Result<Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle().clone());
        }
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(NETWORK_THREADS).thread_name("godwit-network").enable_all().build()?;
        // If two threads get here, the second uses the first one's.
        if let Err(unused) = self.runtime.set(runtime) {
            unused.shutdown_background();
        }
        Ok(self.runtime.get().expect("it was just set").handle().clone())
    }

    /// The client.
    pub(crate) fn client(&self) -> io::Result<HttpClient> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = HttpClient::new(Client::new()?);
        Ok(self.client.get_or_init(|| client).clone())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Without waiting: nothing in flight is needed any more, and this may run on one of its threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Sends the requests of one store through the shared client.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: HttpClient,
    bearer: Option<Bearer>,
}

/// A bearer token; never shown.
#[derive(Clone)]
struct Bearer(Arc<str>);

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(..)")
    }
}

impl Transport {
    /// Creates the transport to a store; `token` is sent to its server.
    pub(crate) fn new(client: HttpClient, token: Option<String>) -> Self {
        Self { client, bearer: token.map(|token| Bearer(format!("Bearer {token}").into())) }
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(Ok(mut value)) = self.bearer.as_ref().map(|bearer| bearer.0.parse::<HeaderValue>()) {
            value.set_sensitive(true);
            request.headers_mut().insert("authorization", value);
        }
        let seen = request.extensions().get::<Arc<Seen>>().cloned();
        seen.iter().for_each(|seen| seen.sent());
        let response = self.client.execute(request).await?;
        seen.iter().for_each(|seen| seen.answered(response.status().as_u16()));
        Ok(response)
    }
}
